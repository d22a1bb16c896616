package e2e

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// versions are the published clients every exchange is tried with.
var versions = []string{"1.0.0", "0.0.59"}

// tool is what an application advertises.
type tool struct {
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Parameters  map[string]any `json:"parameters"`
}

var (
	getLocation = tool{"get_location", "Where the user is", map[string]any{"type": "object", "properties": map[string]any{"precise": map[string]any{"type": "boolean"}}}}
	getTime     = tool{"get_time", "What the user's clock says", map[string]any{"type": "object", "properties": map[string]any{"zone": map[string]any{"type": "string"}}}}
	bothTools   = []tool{getLocation, getTime}
)

// opening begins a session of the Node driver; clients/agui.mjs says more.
type opening struct {
	Version  string            `json:"version"`
	URL      string            `json:"url"`
	ThreadID string            `json:"threadId"`
	Headers  map[string]string `json:"headers,omitempty"`
	Messages []message         `json:"messages,omitempty"`
}

// step is one thing the application does; clients/agui.mjs says more.
type step struct {
	List             []string          `json:"list,omitzero"` // empty is a list too
	User             string            `json:"user,omitempty"`
	UserID           string            `json:"userId,omitempty"`
	RunID            string            `json:"runId,omitempty"`
	Results          []toolMessage     `json:"results,omitempty"`
	Resume           []resumeEntry     `json:"resume,omitempty"`
	Tools            []tool            `json:"tools,omitempty"`
	Answers          map[string]string `json:"answers,omitempty"`
	Handle           bool              `json:"handle,omitempty"`
	MaxRuns          int               `json:"maxRuns,omitempty"`
	AbortAfterEvents int               `json:"abortAfterEvents,omitempty"`
	AbortAfterText   int               `json:"abortAfterText,omitempty"` // pieces of text
}

type toolMessage struct {
	ToolCallID string `json:"toolCallId"`
	Content    string `json:"content"`
}

type resumeEntry struct {
	InterruptID string `json:"interruptId"`
	Status      string `json:"status"`
	Payload     any    `json:"payload,omitempty"`
}

// report is what the client made of one step.
type report struct {
	Runs       []runReport     `json:"runs"`
	Messages   []message       `json:"messages"`
	State      json.RawMessage `json:"state"`
	Complaints []string        `json:"complaints"` // what the library printed
	Broken     string          `json:"broken"`     // a fault of the driver itself
	Opened     bool            `json:"opened"`
	Handled    []handled       `json:"handled"`
}

// handled is one call of the application's handlers.
type handled struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"` // as the history has them
	Announced *struct {
		Name      string         `json:"name"`
		Arguments map[string]any `json:"arguments"`
	} `json:"announced"` // as the library told at the call's end
}

// runReport is one request: what crossed the wire, what the client delivered.
type runReport struct {
	Events     []delivered       `json:"events"`
	Wire       []frame           `json:"wire"`
	Comments   []frame           `json:"comments"`
	Status     int               `json:"status"`
	Headers    map[string]string `json:"headers"`
	Pending    []string          `json:"pending"` // 1.0 only: what the client told the application
	Interrupts []interrupt       `json:"interrupts"`
	Error      *failure          `json:"error"`
	Failed     *failure          `json:"failed"`
	WireError  *failure          `json:"wireError"`
}

type delivered struct {
	At    int64          `json:"at"` // Unix milliseconds
	Event map[string]any `json:"event"`
}

type frame struct {
	At      int64          `json:"at"` // Unix milliseconds
	Raw     string         `json:"raw"`
	Event   map[string]any `json:"event"`
	Extra   []string       `json:"extra"`   // lines that are neither data nor comment
	Problem string         `json:"problem"` // the version's own schema refused the event
}

type interrupt struct {
	ID string `json:"id"`
}

type failure struct {
	Name    string `json:"name"`
	Message string `json:"message"`
}

type message struct {
	ID         string          `json:"id"`
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content,omitempty"`
	ToolCalls  []toolCall      `json:"toolCalls,omitempty"`
	ToolCallID string          `json:"toolCallId,omitempty"`
	Error      string          `json:"error,omitempty"`
}

type toolCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// text is the message's content as the application shows it.
func (m message) text() string {
	var s string
	_ = json.Unmarshal(m.Content, &s)
	return s
}

// client is an application that uses a published client library.
type client struct {
	t       *testing.T
	process *process
}

// stepLimit is how long one step may take, several runs included.
const stepLimit = 30 * time.Second

// open starts an application; it is ended with the test.
func open(t *testing.T, o opening) *client {
	t.Helper()
	p, err := start(must(t, node), filepath.Join("clients", "agui.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	c := &client{t, p}
	if r := c.tell(o, startLimit); !r.Opened {
		t.Fatalf("the client did not open: %+v", r)
	}
	return c
}

func (c *client) tell(order any, limit time.Duration) report {
	c.t.Helper()
	line, err := json.Marshal(order)
	if err != nil {
		c.t.Fatal(err)
	}
	if _, err := c.process.stdin.Write(append(line, '\n')); err != nil {
		c.t.Fatalf("%v; standard error:\n%s", err, c.process.errors.String())
	}
	said, err := c.process.line(limit)
	if err != nil {
		c.t.Fatal(err)
	}
	var r report
	if err := json.Unmarshal([]byte(said), &r); err != nil {
		c.t.Fatalf("driver said %q: %v", said, err)
	}
	if r.Broken != "" {
		c.t.Fatalf("driver broke: %s", r.Broken)
	}
	return r
}

// do takes one step and gives what came of it.
func (c *client) do(s step) report {
	c.t.Helper()
	return c.tell(s, stepLimit)
}

// lastText is the text of the last assistant message.
func (r report) lastText() string {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		if r.Messages[i].Role == "assistant" && len(r.Messages[i].Content) > 0 {
			return r.Messages[i].text()
		}
	}
	return ""
}

// openCalls are the calls of all assistant messages without a tool message.
func (r report) openCalls() []toolCall {
	answered := map[string]bool{}
	for _, m := range r.Messages {
		answered[m.ToolCallID] = true
	}
	var open []toolCall
	for _, m := range r.Messages {
		for _, call := range m.ToolCalls {
			if !answered[call.ID] {
				open = append(open, call)
			}
		}
	}
	return open
}

// types are the event types that crossed the wire, in order.
func (r runReport) types() []string {
	list := make([]string, 0, len(r.Wire))
	for _, f := range r.Wire {
		kind, _ := f.Event["type"].(string)
		list = append(list, kind)
	}
	return list
}

// find gives the events of that type from the wire.
func (r runReport) find(kind string) []map[string]any {
	var list []map[string]any
	for _, f := range r.Wire {
		if f.Event["type"] == kind {
			list = append(list, f.Event)
		}
	}
	return list
}

// String shows a run the way a failing test wants to print it.
func (r runReport) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "status %d error %+v failed %+v wire error %+v\n", r.Status, r.Error, r.Failed, r.WireError)
	for _, f := range r.Wire {
		fmt.Fprintf(&b, "  %s %s\n", f.Raw, strings.TrimSpace(f.Problem+" "+strings.Join(f.Extra, " ")))
	}
	return b.String()
}

// threads counts the thread ids that were given out.
var threads atomic.Int64

// threadID is new at each call, readable in a log.
func threadID(t *testing.T) string {
	return strings.NewReplacer("/", ".", " ", "_", "#", "-").Replace(t.Name()) + "-" + strconv.FormatInt(threads.Add(1), 10)
}
