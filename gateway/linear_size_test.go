//go:build !race

package gateway

// How many threads the histories have, 50 operations each: 100,000 with one gateway,
// 5,000 with two.
const (
	linThreads        = 2000
	linReplicaThreads = 100
)
