package e2e

import (
	"path/filepath"
	"slices"
	"sync"
	"testing"
)

// theApplication is clients/handlers.mjs.
var theApplication = sync.OnceValues(func() (*process, error) {
	path, err := node()
	if err != nil {
		return nil, err
	}
	p, err := start(path, filepath.Join("clients", "handlers.mjs"))
	if err == nil {
		keepShared(p, nil)
	}
	return p, err
})

// handlerRun is one run of an application with a handler for pick_date.
type handlerRun struct {
	Library string            `json:"library"`
	URL     string            `json:"url"`
	Thread  string            `json:"threadId"`
	Tool    string            `json:"tool"`
	Headers map[string]string `json:"headers,omitempty"`
}

// handlerReport tells which calls the handler was run for, by where an application
// may run it from; clients/handlers.mjs says more.
type handlerReport struct {
	Broken   string        `json:"broken"`
	AtEnd    []string      `json:"atEnd"`
	AtFinish []string      `json:"atFinish"`
	After    []string      `json:"after"`
	Results  []toolMessage `json:"results"`
	Error    *failure      `json:"error"`
}

const notRun = "This tool was not run: the agent's run ended before it could be."

// Pieces of a run that calls pick_date.
const (
	callBegins = `{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"pick_date"}`
	callHalf   = `{"type":"TOOL_CALL_ARGS","toolCallId":"c1","delta":"{\"day\":"}`
	callRest   = `{"type":"TOOL_CALL_ARGS","toolCallId":"c1","delta":"1}"}`
	callEnds   = `{"type":"TOOL_CALL_END","toolCallId":"c1"}`
	callChunk  = `{"type":"TOOL_CALL_CHUNK","toolCallId":"c1","toolCallName":"pick_date","delta":"{\"day\":"}`
	restChunk  = `{"type":"TOOL_CALL_CHUNK","delta":"1}"}`
	textOpens  = `{"type":"TEXT_MESSAGE_START","messageId":"m1","role":"assistant"}`
	runFails   = `{"type":"RUN_ERROR","message":"the model is gone"}`
)

// asChunks is the default, asEvents the agent whose chunks are expanded.
const (
	asChunks = "repair-auto"
	asEvents = "repair-auto.on.expand"
)

// cuts are runs that fail around a call. whole says that the call was shown as
// complete before the run failed.
var cuts = []struct {
	name  string
	data  []string
	cut   bool
	whole bool
}{
	{"body ends before the arguments", []string{callBegins}, false, false},
	{"body ends in the arguments", []string{callBegins, callHalf}, false, false},
	{"connection breaks in the arguments", []string{callBegins, callHalf}, true, false},
	{"error in the arguments", []string{callBegins, callHalf, runFails}, false, false},
	{"body ends before the END", []string{callBegins, callHalf, callRest}, false, false},
	{"error before the END", []string{callBegins, callHalf, callRest, runFails}, false, false},
	{"body ends behind the call", []string{callBegins, callHalf, callRest, callEnds}, false, true},
	{"connection breaks behind the call", []string{callBegins, callHalf, callRest, callEnds}, true, true},
	{"error behind the call", []string{callBegins, callHalf, callRest, callEnds, runFails}, false, true},
	{"connection breaks in a text behind the call", []string{callBegins, callHalf, callRest, callEnds, textOpens}, true, true},
	{"error of another protocol behind the call", []string{callBegins, callHalf, callRest, callEnds, `{"error":{"message":"gone"}}`}, false, true},
	{"arguments that are no JSON", []string{callBegins, callHalf, callEnds}, false, false},
}

// chunkCuts are the same around a call in chunks, which has no END of its own.
var chunkCuts = []struct {
	name string
	data []string
	cut  bool
}{
	{"body ends in a chunk", []string{callChunk}, false},
	{"connection breaks behind chunks", []string{callChunk, restChunk}, true},
	{"error behind chunks", []string{callChunk, restChunk, runFails}, false},
}

// applications are what runs a frontend tool's handler.
var applications = []struct {
	library string
	headers map[string]string
}{{"core-1.74", nil}, {"1.0.0", nil}, {"0.0.59", map[string]string{"X-AGUI-Profile": "0.0.59"}}}

// A call of a run that failed is run by nobody [RUN-3]: not by CopilotKit's core, and
// not by an application that looks for open calls at the run's end or when a call
// ends. The one thing that cannot be taken back is the END of a call that was
// complete before the run failed, since it is passed on as it comes [RUN-7]: who
// listens to onToolCallEndEvent alone has heard of that call.
func TestCutCallIsNotRun(t *testing.T) {
	g := must(t, repairGateway)
	g.logsOnFailure(t)
	for _, c := range cuts {
		for _, app := range applications {
			t.Run(c.name+"/"+app.library, func(t *testing.T) {
				r, thread := handle(t, g, asChunks, app.library, app.headers, answerScript{data: begun(c.data...), cut: c.cut})
				wasNotRun(t, g, asChunks, thread, r, c.whole)
				if heard := len(r.AtEnd) > 0; heard != (c.whole && app.library != "core-1.74") {
					t.Errorf("onToolCallEndEvent was called for %v", r.AtEnd)
				}
			})
		}
	}
}

// A call in chunks would be ended by the client itself, at whatever comes next,
// RUN_ERROR too, and onToolCallEndEvent be called with half the arguments. So the
// chunks of a client's call are written as START and ARGS (client_call_chunks), and a
// cut one has no END.
func TestCutChunksAreNotRun(t *testing.T) {
	g := must(t, repairGateway)
	g.logsOnFailure(t)
	for _, agent := range []string{asChunks, asEvents} {
		for _, c := range chunkCuts {
			for _, app := range applications {
				t.Run(agent+"/"+c.name+"/"+app.library, func(t *testing.T) {
					r, thread := handle(t, g, agent, app.library, app.headers, answerScript{data: begun(c.data...), cut: c.cut})
					wasNotRun(t, g, agent, thread, r, false)
					if len(r.AtEnd) > 0 {
						t.Errorf("onToolCallEndEvent was called for %v", r.AtEnd)
					}
				})
			}
		}
	}
}

// wasNotRun checks that no handler has run, that the application has the one result
// that says so, and that a recorded call is cancelled.
func wasNotRun(t *testing.T, g *gateway, agent, thread string, r handlerReport, recorded bool) {
	t.Helper()
	if len(r.After) > 0 || len(r.AtFinish) > 0 {
		t.Errorf("[RUN-3] the handler was run: %+v", r)
	}
	if want := []toolMessage{{"c1", notRun}}; !slices.Equal(r.Results, want) {
		t.Errorf("[RUN-3] the results are %+v, want %+v", r.Results, want)
	}
	list := g.invocations(t, agent, thread, "")
	if recorded != (len(list) == 1) {
		t.Errorf("invocations %+v", list)
	}
	for _, i := range list {
		if i.State != "cancelled" {
			t.Errorf("[RUN-3] the invocation is %+v", i)
		}
	}
}

// The same call is run, once and everywhere, when the run ends well.
func TestWholeCallIsRun(t *testing.T) {
	g := must(t, repairGateway)
	g.logsOnFailure(t)
	for name, data := range map[string][]string{
		"call":   {callBegins, callHalf, callRest, callEnds},
		"no END": {callBegins, callHalf, callRest},
		"chunks": {callChunk, restChunk},
	} {
		for _, app := range applications {
			t.Run(name+"/"+app.library, func(t *testing.T) {
				data := append(begun(data...), `{"type":"RUN_FINISHED","threadId":"th1","runId":"r1"}`)
				r, _ := handle(t, g, asChunks, app.library, app.headers, answerScript{data: data})
				once := []string{"c1"}
				if !slices.Equal(r.After, once) || app.library != "core-1.74" && (!slices.Equal(r.AtEnd, once) || !slices.Equal(r.AtFinish, once)) {
					t.Errorf("the handler was run for %+v", r)
				}
				if r.Error != nil {
					t.Errorf("the run failed: %+v", r.Error)
				}
				if done := []toolMessage{{"c1", "done"}}; app.library == "core-1.74" && !slices.Equal(r.Results, done) {
					t.Errorf("the results are %+v, want %+v", r.Results, done)
				}
			})
		}
	}
}

func begun(data ...string) []string {
	return append([]string{`{"type":"RUN_STARTED","threadId":"th1","runId":"r1"}`}, data...)
}

// handle runs an application on a new thread, which it gives too.
func handle(t *testing.T, g *gateway, agent, library string, headers map[string]string, s answerScript) (r handlerReport, thread string) {
	t.Helper()
	thread = threadID(t)
	s.data = onThread(s.data, thread)
	theFaultyAgent().play(thread, s)
	askJSON(t, must(t, theApplication), handlerRun{Library: library, URL: g.run(agent), Thread: thread, Tool: "pick_date", Headers: headers}, &r)
	if r.Broken != "" {
		t.Fatalf("driver broke: %s", r.Broken)
	}
	return r, thread
}
