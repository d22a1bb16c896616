//go:build race

package gateway

// The race detector costs some ten times the time: a part of the histories has to do.
const (
	linThreads        = 200
	linReplicaThreads = 40
)
