// Command agent is an AG-UI backend made of the published Go community SDK:
// its RunAgentInput decoder, its event constructors and its SSE writer.
//
// It prints `ready URL` once it listens and ends when its standard input does.
// The last user text decides: "where am I" calls the client's get_location,
// "compare" get_location and get_time; with "again" in the text the call ids
// are call_0, call_1, the same in every run, as local models number them;
// "recall" tells every result of the history; anything else is echoed. Results
// of the current turn are answered with a text that contains them.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/ag-ui-protocol/ag-ui/sdks/community/go/pkg/core/events"
	"github.com/ag-ui-protocol/ag-ui/sdks/community/go/pkg/core/types"
	"github.com/ag-ui-protocol/ag-ui/sdks/community/go/pkg/encoding/sse"
)

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(run), ReadHeaderTimeout: 10 * time.Second}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // the parent is gone when this ends
		_ = server.Close()
	}()
	fmt.Printf("ready http://%s/agentic_chat\n", listener.Addr())
	if err := server.Serve(listener); err != http.ErrServerClosed {
		log.Fatal(err)
	}
}

func run(w http.ResponseWriter, r *http.Request) {
	var input types.RunAgentInput
	if err := json.NewDecoder(r.Body).Decode(&input); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	writer := sse.NewSSEWriter()
	for _, event := range script(input) {
		if err := writer.WriteEvent(context.WithoutCancel(r.Context()), w, event); err != nil {
			return
		}
	}
}

// script is the whole run, as the SDK's events.
func script(input types.RunAgentInput) []events.Event {
	list := []events.Event{events.NewRunStartedEvent(input.ThreadID, input.RunID)}
	text, results, history := turn(input.Messages)
	wanted := tools(text)
	switch missing := notOffered(wanted, input.Tools); {
	case strings.Contains(text, "recall"):
		list = append(list, say("I know "+strings.Join(history, " and ")+".")...)
	case len(results) > 0:
		list = append(list, say("The answer is "+strings.Join(results, " and ")+".")...)
	case len(missing) > 0:
		list = append(list, say("No tool "+strings.Join(missing, ", ")+" was offered.")...)
	case len(wanted) > 0:
		list = append(list, calls(wanted, strings.Contains(text, "again"))...)
	default:
		list = append(list, say("You said: "+text)...)
	}
	return append(list, events.NewRunFinishedEvent(input.ThreadID, input.RunID))
}

// turn gives the last user text, the tool results after it, and all results.
func turn(messages []types.Message) (text string, results, history []string) {
	for _, message := range messages {
		content, _ := message.Content.(string)
		switch message.Role {
		case types.RoleUser:
			text, results = content, nil
		case types.RoleTool:
			results = append(results, content)
			history = append(history, content)
		}
	}
	return text, results, history
}

func tools(text string) []string {
	switch {
	case strings.Contains(text, "compare"):
		return []string{"get_location", "get_time"}
	case strings.Contains(text, "where am I"):
		return []string{"get_location"}
	}
	return nil
}

func notOffered(wanted []string, offered []types.Tool) []string {
	return slices.DeleteFunc(slices.Clone(wanted), func(name string) bool {
		return slices.ContainsFunc(offered, func(tool types.Tool) bool { return tool.Name == name })
	})
}

func say(text string) []events.Event {
	id := events.GenerateMessageID()
	list := []events.Event{events.NewTextMessageStartEvent(id, events.WithRole("assistant"))}
	for _, word := range strings.SplitAfter(text, " ") {
		list = append(list, events.NewTextMessageContentEvent(id, word))
	}
	return append(list, events.NewTextMessageEndEvent(id))
}

func calls(names []string, numbered bool) []events.Event {
	var list []events.Event
	parent := events.GenerateMessageID()
	for i, name := range names {
		id := events.GenerateToolCallID()
		if numbered {
			id = fmt.Sprintf("call_%d", i)
		}
		list = append(list,
			events.NewToolCallStartEvent(id, name, events.WithParentMessageID(parent)),
			events.NewToolCallArgsEvent(id, `{"precise":`),
			events.NewToolCallArgsEvent(id, `true}`),
			events.NewToolCallEndEvent(id),
		)
	}
	return list
}
