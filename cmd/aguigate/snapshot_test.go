package main

import (
	"net/http"
	"strings"
	"testing"
)

// An agent that uses a message id in each run anew, and then sends what it knows as a
// snapshot: the messages keep the names they were shown under, and the thread its
// order [INV-2, HIST-1].
func TestSnapshotOfReusedIDs(t *testing.T) {
	up := serveBackend(t, func(w http.ResponseWriter, _ *http.Request, body string) {
		if !strings.Contains(body, `"role":"tool"`) {
			say(w, `{"type":"RUN_STARTED","threadId":"t","runId":"r"}`, `{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"get_location","parentMessageId":"m1"}`,
				`{"type":"TOOL_CALL_END","toolCallId":"c1"}`, `{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`)
			return
		}
		say(w, `{"type":"RUN_STARTED","threadId":"t","runId":"r"}`, `{"type":"TEXT_MESSAGE_START","messageId":"m1","role":"assistant"}`,
			`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"hello"}`, `{"type":"TEXT_MESSAGE_END","messageId":"m1"}`,
			`{"type":"MESSAGES_SNAPSHOT","messages":[`+user("u1", "x")+`,`+assistant("m1", toolCall("c1", "get_location"))+`,`+result("t1", "c1", "Porto")+`]}`,
			`{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`)
	})
	w := begin(t, agent("a", up.URL, ""))
	w.run("", "a", input("th1", "r1", locate, user("u1", "x")))
	frames := w.run("", "a", input("th1", "r2", locate, user("u1", "x"), assistant("m1", toolCall("c1", "get_location")), result("t1", "c1", "Porto")))
	for _, f := range frames {
		if f.Type == "MESSAGES_SNAPSHOT" && ids(string(f.Raw)) != "u1 m1 t1" {
			t.Errorf("the snapshot has %s", ids(string(f.Raw)))
		}
	}
	if got := ids(w.do(call{method: "GET", path: "/v1/threads/th1"}).body); got != "u1 m1 t1" {
		t.Errorf("the thread has %s", got)
	}
}
