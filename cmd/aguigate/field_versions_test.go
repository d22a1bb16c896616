package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/aguigate/aguigate/protocol/agui"
	"github.com/aguigate/aguigate/protocol/agui/wire"
)

// packed writes frames as protobuf.
func packed(t *testing.T, all ...string) (out []byte) {
	t.Helper()
	for _, raw := range all {
		f, err := agui.ParseFrame([]byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		var ok bool
		if out, ok, err = wire.Append(out, f); err != nil || !ok {
			t.Fatalf("%s: %v", raw, err)
		}
	}
	return out
}

// Group M: what each side can read.
func beginVersions(t *testing.T) (*stage, *world) {
	t.Helper()
	s := newStage(t)
	named := func(name, conf string) string {
		return strings.NewReplacer("  a:", "  "+name+":", "kind: agui,", "kind: agui, "+conf).Replace(patient(s.URL, ""))[len("agents:\n"):]
	}
	return s, begin(t, "limits: {body: 4MiB}\n"+patient(s.URL, "")+named("new", "protocol: '1.0',")+named("old", "protocol: '0.0',")+named("proto", "encoding: protobuf,"))
}

// F081: protobuf for who ranks it higher.
func TestF081ProtobufForClients(t *testing.T) {
	s, w := beginVersions(t)
	for i, c := range []struct{ accept, kind string }{
		{"application/vnd.ag-ui.event+proto;q=1, text/event-stream;q=0.5", wire.MediaType},
		{"application/vnd.ag-ui.event+proto", wire.MediaType},
		{"application/vnd.ag-ui.event+proto;q=0.4, text/event-stream;q=0.5", "text/event-stream"},
		{"application/vnd.ag-ui.event+proto;q=0", "text/event-stream"},
		{"*/*", "text/event-stream"}, {"image/png", "text/event-stream"}, {"", "text/event-stream"},
	} {
		thread := fmt.Sprint("th81-", i)
		s.plays(thread, exactly(append(append([]string{started(thread)}, saying("m1", "hé")...), finished(thread))...))
		r := w.do(call{method: "POST", path: "/agents/a/run", body: input(thread, "r1", "", user("u1", "hi")), header: map[string]string{"Accept": c.accept}})
		if got := r.header.Get("Content-Type"); got != c.kind {
			t.Errorf("%q gets %q", c.accept, got)
			continue
		}
		var got []agui.Frame
		if c.kind == wire.MediaType {
			d := wire.NewDecoder(1 << 20)
			if err := d.Feed([]byte(r.body), func(f agui.Frame) error { got = append(got, f); return nil }); err != nil || d.Pending() {
				t.Errorf("%q: %v, pending %v", c.accept, err, d.Pending())
			}
		} else {
			got = w.events(r.body)
		}
		if kinds(got) != "RUN_STARTED TEXT_MESSAGE_START TEXT_MESSAGE_CONTENT TEXT_MESSAGE_END RUN_FINISHED" {
			t.Errorf("%q gets %s", c.accept, kinds(got))
		}
	}
}

// F081: protobuf from an upstream, its lengths in pieces and too large.
func TestF081ProtobufFromUpstream(t *testing.T) {
	s, w := beginVersions(t)
	long := strings.Repeat("x", 0x2a)
	all := packed(t, started("th81p"), `{"type":"TEXT_MESSAGE_START","messageId":"m1","role":"assistant"}`, `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"`+long+`"}`, `{"type":"TEXT_MESSAGE_END","messageId":"m1"}`, finished("th81p"))
	pieces := func(cut int, b []byte) act {
		return func(w http.ResponseWriter, _ *http.Request, _ string) {
			w.Header().Set("Content-Type", wire.MediaType)
			for len(b) > 0 {
				n := min(cut, len(b))
				_, _ = w.Write(b[:n])
				w.(http.Flusher).Flush()
				b = b[n:]
			}
		}
	}
	for _, cut := range []int{1, 2, 3, 1 << 20} {
		s.plays("th81p", pieces(cut, all))
		if got := w.run("", "proto", input("th81p", fmt.Sprint("r", cut), "", `{"id":"s","role":"system","content":"x"}`)); text(got) != long || last(got).Type != agui.RunFinished {
			t.Errorf("in pieces of %d: %s, ended in %s", cut, kinds(got), last(got).Raw)
		}
	}
	for _, prefix := range []string{"\x7f\xff\xff\xff", "\xff\xff\xff\xff"} {
		s.plays("th81q", pieces(1<<20, append(packed(t, started("th81q")), prefix...)))
		if end := last(w.run("", "proto", input("th81q", "r"+fmt.Sprint(prefix[0]), "", user("u1", "hi")))); end.Type != agui.RunError || end.Text("code") != "event_too_large" {
			t.Errorf("the length %x: ended in %s", prefix, end.Raw)
		}
	}
}

// F082: older and newer events.
func TestF082OlderAndNewerEvents(t *testing.T) {
	s, w := beginVersions(t)
	s.plays("th82", exactly(started("th82"), `{"type":"THINKING_START"}`, `{"type":"THINKING_TEXT_MESSAGE_START"}`, `{"type":"THINKING_TEXT_MESSAGE_CONTENT","delta":"hm"}`, `{"type":"THINKING_TEXT_MESSAGE_END"}`, `{"type":"THINKING_END"}`,
		`{"type":"NOT_YET_INVENTED","x":1}`, `{"type":"CUSTOM","name":"n","value":1,"newField":1.50}`, finished("th82")))
	thought := "REASONING_START REASONING_MESSAGE_START REASONING_MESSAGE_CONTENT REASONING_MESSAGE_END REASONING_END"
	for profile, want := range map[string]string{
		"1.0":    "RUN_STARTED " + thought + " NOT_YET_INVENTED CUSTOM RUN_FINISHED",
		"0.0.59": "RUN_STARTED " + thought + " CUSTOM RUN_FINISHED",
		"0.0.45": "RUN_STARTED " + thought + " CUSTOM RUN_FINISHED",
	} {
		before := w.sum(`aguigate_repairs_total{agent="a",kind="profile"}`)
		r := w.as(profile, "a", input("th82", "r"+profile, "", user("u1", "hi")))
		if got := kinds(w.events(r.body)); got != want {
			t.Errorf("%s gets %s", profile, got)
		}
		if kept := strings.Contains(r.body, `"newField":1.50`); kept != (profile == "1.0") {
			t.Errorf("%s: a new field is kept: %v", profile, kept)
		}
		if after := w.sum(`aguigate_repairs_total{agent="a",kind="profile"}`); (after != before) != (profile != "1.0") {
			t.Errorf("%s: what was changed is counted %s, before %s", profile, after, before)
		}
	}
}

// F083: pictures in messages, both ways.
func TestF083PicturesInMessages(t *testing.T) {
	s, w := beginVersions(t)
	binary := `{"type":"binary","mimeType":"image/png","data":"iVBORw0KGgo="}`
	typed := `{"type":"image","source":{"type":"data","value":"iVBORw0KGgo=","mimeType":"image/png"}}`
	file := `{"type":"image","source":{"type":"file","value":"f1","mimeType":"image/png"}}`
	for i, c := range []struct{ agent, sent, want string }{
		{"new", binary, typed}, {"new", typed, typed}, {"new", file, file},
		{"old", binary, binary}, {"old", typed, typed}, {"old", file, `{"type":"binary","mimeType":"image/png","id":"f1"}`},
	} {
		thread := fmt.Sprint("th83-", i)
		w.run("", c.agent, input(thread, "r1", "", `{"id":"u1","role":"user","content":[{"type":"text","text":"see"},`+c.sent+`]}`))
		var in struct {
			Messages []struct{ Content []json.RawMessage }
		}
		if err := json.Unmarshal([]byte(s.newest(thread)), &in); err != nil || len(in.Messages) != 1 || len(in.Messages[0].Content) != 2 {
			t.Fatalf("%s is asked %s", c.agent, s.newest(thread))
		}
		if got := string(in.Messages[0].Content[1]); !sameJSON(got, c.want) || !strings.Contains(string(in.Messages[0].Content[0]), "see") {
			t.Errorf("%s reads %s, want %s", c.agent, got, c.want)
		}
	}
}

// F084: a picture as a result.
func TestF084PictureAsResult(t *testing.T) {
	s, w := beginVersions(t)
	image := `{"type":"image","source":{"type":"url","value":"https://files.example/shot.png","mimeType":"image/png"}}`
	for _, agentName := range []string{"new", "old"} {
		thread := "th84" + agentName
		s.plays(thread, frames("r1", calling("m2", "shot", "c1")...), frames("r2"))
		w.run("", agentName, input(thread, "r1", offered("shot"), user("m1", "hi")))
		w.run("", agentName, input(thread, "r2", offered("shot"), user("m1", "hi"), assistant("m2", toolCall("c1", "shot")), `{"id":"t1","role":"tool","toolCallId":"c1","content":[{"type":"text","text":"here"},`+image+`]}`))
		var in struct {
			Messages []struct{ Content json.RawMessage }
		}
		if err := json.Unmarshal([]byte(s.newest(thread)), &in); err != nil || len(in.Messages) != 3 {
			t.Fatalf("%s is asked %s", agentName, s.newest(thread))
		}
		got := string(in.Messages[2].Content)
		if agentName == "new" {
			if !sameJSON(got, `[{"type":"text","text":"here"},`+image+`]`) {
				t.Errorf("1.0 reads %s", got)
			}
			continue
		}
		var said string
		if err := json.Unmarshal([]byte(got), &said); err != nil {
			t.Fatalf("0.0 reads %s", got)
		}
		words, reference, _ := strings.Cut(said, "\n")
		if words != "here" || !json.Valid([]byte(reference)) || !strings.Contains(reference, "https://files.example/shot.png") || !strings.Contains(reference, "image/png") {
			t.Errorf("0.0 reads %q", said)
		}
	}
}

// F087: a body over the limit.
func TestF087BodyOverLimit(t *testing.T) {
	s, w := beginVersions(t)
	body := input("th87", "r1", "", user("u1", strings.Repeat("x", 6<<20)))
	for name, send := range map[string]io.Reader{"with a length": strings.NewReader(body), "in chunks": io.MultiReader(bytes.NewReader([]byte(body)))} {
		req, err := http.NewRequest("POST", w.url+"/agents/a/run", send)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		res, err := testClient.Do(req)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got := reply{status: res.StatusCode, header: res.Header, body: readAll(res)}
		res.Body.Close()
		if got.status != 413 || got.code() != "body_too_large" || !strings.Contains(got.body, "4194304") || !strings.Contains(got.header.Get("Content-Type"), "application/json") {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
	deep := strings.Replace(input("th87", "r1", "", user("u1", "hi")), `"state":{}`, `"state":`+strings.Repeat("[", 5000)+strings.Repeat("]", 5000), 1)
	if r := w.post("a", deep); r.status != 400 || r.code() != "invalid_request" {
		t.Errorf("deep nesting: %d %s", r.status, r.body)
	}
	if n := len(s.asks("th87")); n != 0 {
		t.Errorf("the agent was asked %d times", n)
	}
	if r := w.post("a", input("th87", "r1", "", user("u1", strings.Repeat("x", 4<<20-1000)))); r.status != 200 {
		t.Errorf("a body below the limit: %d %s", r.status, r.body)
	}
}
