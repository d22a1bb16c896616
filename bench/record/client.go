package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// toolName is the one tool clients offer.
const toolName = "get_location"

const toolResult = "Porto, near the river"

// client is an AG-UI client with one thread: it keeps the messages it has built and
// posts all of them with every run.
type client struct {
	url    string // of the gateway
	kind   kind
	number int // among all, of
	of     int
	thread string
	http   *http.Client
	turns  int
	list   []json.RawMessage
	call   string // id of the call that waits, as it was shown
}

// message is one that a stream builds.
type message struct {
	ID        string     `json:"id"`
	Role      string     `json:"role"`
	Content   string     `json:"content,omitempty"`
	ToolCalls []toolCall `json:"toolCalls,omitempty"`
}

type toolCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// firstBytes is the length of the longest first question: what a thread's record
// holds of the transcript before it begins a page.
const firstBytes = 8 << 10

// ask is a run with a new user message. The first one is of another length for each
// thread, so that the threads' pages do not all turn in the same run.
func (c *client) ask() error {
	c.turns++
	size := 40 + (c.number*31+c.turns*37)%120
	if c.turns == 1 {
		size = firstBytes * c.number / c.of
	}
	text := fmt.Sprintf("question %d %s", c.turns, strings.Repeat("x", size))
	c.add(message{ID: fmt.Sprintf("u-%d", c.turns), Role: "user", Content: text})
	return c.run(fmt.Sprintf("%s-%d", c.thread, c.turns))
}

// tell is the run that brings the result of the call that waits.
func (c *client) tell() error {
	c.addRaw(fmt.Appendf(nil, `{"id":"t-%d","role":"tool","toolCallId":%q,"content":%q}`, c.turns, c.call, toolResult))
	return c.run(fmt.Sprintf("%s-%d-b", c.thread, c.turns))
}

func (c *client) add(m message) {
	raw, _ := json.Marshal(m) // strings only: it cannot fail
	c.addRaw(raw)
}

func (c *client) addRaw(raw []byte) { c.list = append(c.list, raw) }

// run posts the whole list and builds the messages of the stream.
func (c *client) run(id string) error {
	body := fmt.Appendf(nil, `{"threadId":%q,"runId":%q,"protocolVersion":"1.0","state":{},"context":[],"forwardedProps":{},"tools":[{"name":%q,"description":"the city","parameters":{"type":"object"}}],"messages":[`, c.thread, id, toolName)
	body = append(body, bytes.Join(raws(c.list), []byte(","))...)
	stream, err := c.post("/agents/"+c.kind.name+"/run", append(body, "]}"...))
	if err != nil {
		return err
	}
	c.call = ""
	return c.build(stream)
}

func raws(list []json.RawMessage) [][]byte {
	out := make([][]byte, len(list))
	for i := range list {
		out[i] = list[i]
	}
	return out
}

// event holds what the benchmark reads of any event.
type event struct {
	Type, MessageID, Delta, ToolCallID, ToolCallName, ParentMessageID, Message string

	Messages []json.RawMessage
}

// build reads a whole stream as the published client does: text by messageId, calls
// by parentMessageId, a snapshot in place of the list.
func (c *client) build(stream []byte) error {
	var m message
	last := ""
	for line := range bytes.Lines(stream) {
		data, ok := bytes.CutPrefix(line, []byte("data: "))
		if !ok {
			continue
		}
		var e event
		if err := json.Unmarshal(data, &e); err != nil {
			return err
		}
		switch last = e.Type; e.Type {
		case "MESSAGES_SNAPSHOT":
			c.list = e.Messages
		case "TEXT_MESSAGE_START":
			m = message{ID: e.MessageID, Role: "assistant"}
		case "TEXT_MESSAGE_CONTENT":
			m.Content += e.Delta
		case "TOOL_CALL_START":
			call := toolCall{ID: e.ToolCallID, Type: "function"}
			call.Function.Name = e.ToolCallName
			m = message{ID: e.ParentMessageID, Role: "assistant", ToolCalls: []toolCall{call}}
			c.call = e.ToolCallID
		case "TOOL_CALL_ARGS":
			m.ToolCalls[0].Function.Arguments += e.Delta
		case "RUN_ERROR":
			return fmt.Errorf("thread %s, turn %d: %s", c.thread, c.turns, data)
		}
	}
	if last != "RUN_FINISHED" || c.call == "" && m.Content != answer() {
		return fmt.Errorf("thread %s, turn %d: the stream is not what the agent said: %.2000s", c.thread, c.turns, stream)
	}
	c.add(m)
	return nil
}

// openCall finds the public id of the thread's one open call.
func (c *client) openCall() (string, error) {
	req, err := http.NewRequest(http.MethodGet, c.url+"/v1/threads/"+c.thread+"/invocations?state=open&agent="+c.kind.name, nil)
	if err != nil {
		return "", err
	}
	body, err := c.do(req)
	if err != nil {
		return "", err
	}
	var list struct{ Invocations []struct{ ID string } }
	if err := json.Unmarshal(body, &list); err != nil {
		return "", err
	}
	if len(list.Invocations) != 1 {
		return "", fmt.Errorf("thread %s: one open call expected: %s", c.thread, body)
	}
	return list.Invocations[0].ID, nil
}

// resolve answers a call through the API, as a backend of the user's would.
func (c *client) resolve(id string) error {
	_, err := c.post("/v1/invocations/"+id+"/resolve", fmt.Appendf(nil, `{"result":%q}`, toolResult))
	return err
}

func (c *client) post(path string, body []byte) ([]byte, error) {
	req, err := http.NewRequest(http.MethodPost, c.url+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	return c.do(req)
}

func (c *client) do(req *http.Request) ([]byte, error) {
	res, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = errors.New(res.Status + ": " + string(body))
	}
	return body, err
}

// newHTTP gives the clients' connections.
func newHTTP() *http.Client {
	return &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 2 * workers}}
}
