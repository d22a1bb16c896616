// Command client sends one run with the published Go community SDK's client
// and prints, as one JSON document, what the SDK made of the answer.
//
// Standard input: {"url", "headers", "input": RunAgentInput}.
package main

import (
	"context"
	"encoding/json"
	"io"
	"log"
	"os"
	"time"

	"github.com/ag-ui-protocol/ag-ui/sdks/community/go/pkg/client/sse"
	"github.com/ag-ui-protocol/ag-ui/sdks/community/go/pkg/core/events"
	"github.com/ag-ui-protocol/ag-ui/sdks/community/go/pkg/core/types"
	"github.com/sirupsen/logrus"
)

type job struct {
	URL     string              `json:"url"`
	Headers map[string]string   `json:"headers"`
	Input   types.RunAgentInput `json:"input"`
}

// report is what the SDK delivered: each frame, what its decoder refused, and
// the verdict of its own order check.
type report struct {
	Frames   []json.RawMessage `json:"frames"`
	Refused  []string          `json:"refused"`
	Sequence string            `json:"sequence"`
	Error    string            `json:"error"`
}

func main() {
	var j job
	if err := json.NewDecoder(os.Stdin).Decode(&j); err != nil {
		log.Fatal(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(run(j)); err != nil {
		log.Fatal(err)
	}
}

func run(j job) (r report) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	quiet := logrus.New()
	quiet.SetOutput(io.Discard)
	client := sse.NewClient(sse.Config{Endpoint: j.URL, Logger: quiet})
	defer func() { _ = client.Close() }()
	frames, failures, err := client.Stream(sse.StreamOptions{Context: ctx, Payload: j.Input, Headers: j.Headers})
	if err != nil {
		r.Error = err.Error()
		return r
	}
	var decoded []events.Event
	for frame := range frames {
		r.Frames = append(r.Frames, frame.Data)
		event, err := events.EventFromJSON(frame.Data)
		if err != nil {
			r.Refused = append(r.Refused, err.Error())
			continue
		}
		decoded = append(decoded, event)
	}
	if err := <-failures; err != nil {
		r.Error = err.Error()
	}
	if ctx.Err() != nil {
		r.Error = "the stream did not end: " + ctx.Err().Error()
	}
	if err := events.ValidateSequence(decoded); err != nil {
		r.Sequence = err.Error()
	}
	return r
}
