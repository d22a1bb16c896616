// Package e2e tries aguigate with the programs that people really use: two
// generations of the published AG-UI client for Node, CopilotKit's agent behind
// its own runtime, and both sides of the Go community SDK.
//
// Everything runs on loopback, on free ports, as separate processes; each is
// ended by its id. `npm ci` in this folder must have run before (`make test`
// does it); a missing program is a failure with words, never a skip.
package e2e
