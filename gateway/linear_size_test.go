//go:build !race

package gateway

// How many threads the histories have, 50 operations each.
const (
	linThreads        = 2000
	linReplicaThreads = 200
)
