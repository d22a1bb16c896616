//go:build !race

package gateway

// How many threads the histories have, 50 operations each.
const (
	linThreads        = 400
	linReplicaThreads = 200
)
