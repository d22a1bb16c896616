//go:build race

package gateway

// The race detector costs some six times the processor: a tenth of the histories has
// to do.
const (
	linThreads        = 170
	linReplicaThreads = 30
)
