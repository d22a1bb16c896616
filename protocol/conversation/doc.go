// Package conversation builds a thread's messages from the events of a run, as
// the published AG-UI client builds them [HIST-1]: @ag-ui/client 1.0.0, its
// chunk expansion and its default reducer. testdata holds what that client made
// of the event lists there, and the script that asked it.
//
// What is taken over is kept as the bytes that came: text is appended escaped,
// numbers and keys nobody knows stay as they were written.
package conversation
