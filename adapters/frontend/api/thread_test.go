package api

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/aguigate/aguigate/adapters/carrier"
)

// TestThreadRoutes writes out what each request asks of the gateway, and what it
// answers.
func TestThreadRoutes(t *testing.T) {
	s := serve(t, carrier.Options{})
	inv := string(open.MarshalPublic())
	const (
		running = `{"thread":"t\"2","agent":"shop","status":"running","run":"r9","created_at":"2026-05-04T03:02:01.987Z","active_at":"2026-05-04T03:03:01.987Z"}`
		idle    = `{"thread":"t1","agent":"shop","status":"idle","run":null,"created_at":"2026-05-04T03:02:01.987Z","active_at":null}`
		both    = `"created_at":"2026-05-04T03:02:01.987Z","active_at":"2026-05-04T03:02:01.987Z"`
		noLimit = `400 invalid_request "limit"`
		gone    = `404 thread_not_found ""`
	)
	for _, c := range []struct{ request, body, want, asked string }{
		{"GET /v1/threads", "", `200 {"threads":[` + running + `,` + idle + `],"next_cursor":"next\"1"}`, `ann threads "" 0 ""`},
		{"GET /v1/threads?agent=a+b&limit=1&cursor=end", "", `200 {"threads":[],"next_cursor":null}`, `ann threads "a b" 1 "end"`},
		{"GET /v1/threads?limit=200&agent=", "", `200 {"threads":[` + running + `,` + idle + `],"next_cursor":"next\"1"}`, `ann threads "" 200 ""`},
		{"GET /v1/threads?cursor=bad", "", `400 invalid_request "cursor"`, `ann threads "" 0 "bad"`},
		{"GET /v1/threads?limit=0", "", noLimit, ""},
		{"GET /v1/threads?limit=201", "", noLimit, ""},
		{"GET /v1/threads?limit=-1", "", noLimit, ""},
		{"GET /v1/threads?limit=%2B5", "", noLimit, ""},
		{"GET /v1/threads?limit=99999999999999999999", "", noLimit, ""},
		{"GET /v1/threads?limit=ten", "", noLimit, ""},

		{"GET /v1/threads/t%2F1?agent=shop", "", `200 {"thread":"t/1","agent":"shop","status":"waiting","run":null,` + both +
			`,"messages":[{"id":"u1","role":"user","content":"hi","x":1.0},{"id":"a1", "role":"assistant"}],"invocations":[` + inv + `]}`, `ann thread "t/1" "shop"`},
		{"GET /v1/threads/empty", "", `200 {"thread":"empty","agent":"shop","status":"idle","run":null,` + both + `,"messages":[],"invocations":[]}`, `ann thread "empty" ""`},
		{"GET /v1/threads/none", "", gone, `ann thread "none" ""`},
		{"DELETE /v1/threads/t1?agent=shop", "", `204`, `ann delete "t1" "shop"`},
		{"DELETE /v1/threads/none", "", gone, `ann delete "none" ""`},

		{"POST /v1/threads/t1/continue", "", `202 {"run":"r\"2"}`, `ann continue "t1" ""`},
		{"POST /v1/threads/t1/continue?agent=shop", "{}", `202 {"run":"r\"2"}`, `ann continue "t1" "shop"`},
		{"POST /v1/threads/none/continue", "", gone, `ann continue "none" ""`},
		{"POST /v1/threads/t1/continue", "[]", `400 invalid_request ""`, ""},
		{"POST /v1/threads/t1/continue", "{", `400 invalid_request ""`, ""},

		{"POST /v1/threads/t1/stop", "", `200 {"stopped":true}`, `ann stop "t1" "" ""`},
		{"POST /v1/threads/t1/stop", "{}", `200 {"stopped":true}`, `ann stop "t1" "" ""`},
		{"POST /v1/threads/t1/stop", `{"run":null}`, `200 {"stopped":true}`, `ann stop "t1" "" ""`},
		{"POST /v1/threads/t1/stop?agent=shop", `{"run":"r1"}`, `200 {"stopped":true}`, `ann stop "t1" "shop" "r1"`},
		{"POST /v1/threads/t1/stop", `{"run":"gone"}`, `200 {"stopped":false}`, `ann stop "t1" "" "gone"`},
		{"POST /v1/threads/none/stop", "", gone, `ann stop "none" "" ""`},
		{"POST /v1/threads/t1/stop", `{"run":""}`, `400 invalid_request "/run"`, ""},
		{"POST /v1/threads/t1/stop", `{"run":1}`, `400 invalid_request "/run"`, ""},
		{"POST /v1/threads/t1/stop", `{"Run":"r1"}`, `400 invalid_request "/Run"`, ""},
		{"POST /v1/threads/t1/stop", `{"run":"a","run":"b"}`, `400 invalid_request "/run"`, ""},
		{"POST /v1/threads/t1/stop", `"r1"`, `400 invalid_request ""`, ""},

		{"GET /v1/threads/t1/invocations?state=open&agent=shop", "", `200 {"invocations":[` + inv + `],"next_cursor":null}`, `ann invocations "t1" "shop" "open"`},
		{"GET /v1/invocations", "", `200 {"invocations":[` + inv + `,` + inv + `],"next_cursor":"c2"}`, `ann all "" "" 0 ""`},
		{"GET /v1/invocations?state=settled&tool=pick&limit=7&cursor=end", "", `200 {"invocations":[],"next_cursor":null}`, `ann all "settled" "pick" 7 "end"`},
		{"GET /v1/invocations?state=done", "", `400 invalid_request "state"`, ""},
		{"GET /v1/invocations?limit=0", "", noLimit, ""},

		// "continue": false leaves the continuation to the client [INV-11].
		{"POST /v1/invocations/inv_a/resolve", `{"result":1}`, `200 {"invocation":` + inv + `,"replayed":false}`, `ann resolve inv_a leave=false`},
		{"POST /v1/invocations/inv_a/resolve", `{"result":1,"continue":true}`, `200 {"invocation":` + inv + `,"replayed":false}`, `ann resolve inv_a leave=false`},
		{"POST /v1/invocations/inv_a/resolve", `{"error":{"message":"m"},"continue": false}`, `200 {"invocation":` + inv + `,"replayed":false}`, `ann resolve inv_a leave=true`},
		{"POST /v1/threads/t1/resolve?agent=shop", `{"results":[{"id":"a","result":1,"continue":false},{"id":"b","result":2}]}`,
			`200 {"results":[{"invocation":` + inv + `,"replayed":true}]}`, `ann resolve "t1" "shop" a leave=true; ann resolve "t1" "shop" b leave=false`},
	} {
		method, path, _ := strings.Cut(c.request, " ")
		got := s.ask(method, path, c.body)
		if asked := s.seen(); got != c.want || asked != c.asked {
			t.Errorf("%s %s\n got %s\nwant %s\nasked %s\n want %s", c.request, c.body, got, c.want, asked, c.asked)
		}
		if _, body, has := strings.Cut(got, " "); has && strings.HasPrefix(got, "2") && !json.Valid([]byte(body)) {
			t.Errorf("%s answers no JSON: %s", c.request, body)
		}
	}
}
