package stream

import "time"

// Result is what the load client prints as its last line, in JSON.
type Result struct {
	Runs    int           `json:"runs"`
	Events  int           `json:"events"`
	Bytes   int64         `json:"bytes"`
	Elapsed time.Duration `json:"elapsed_ns"`
	// P50 and P99 are the delay of an event from the generator's write to the
	// client's read; 0 where frames carry no time.
	P50 time.Duration `json:"p50_ns"`
	P99 time.Duration `json:"p99_ns"`
}

// OpenLine is what the load client prints once every client has got its first bytes.
const OpenLine = "open"
