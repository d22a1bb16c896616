// Package api is the Gateway API (contract §6): any client may read its threads and
// their invocations, follow, continue and stop them, and settle invocations over
// plain HTTP, whatever dialect opened them.
package api

import (
	_ "embed"
	"time"

	"github.com/aguigate/aguigate/adapters/carrier"
	"github.com/aguigate/aguigate/adapters/frontend"
	"github.com/aguigate/aguigate/protocol/fault"
	"github.com/aguigate/aguigate/protocol/strictjson"
	"github.com/aguigate/aguigate/protocol/tool"
)

// Name is the dialect in metrics and logs.
const Name = "api"

// OpenAPI is the description of every HTTP route of the public listener that is
// the gateway's own, OpenAPI 3.1.
//
//go:embed openapi.json
var OpenAPI []byte

// Frontend answers the Gateway API.
type Frontend struct{ gateway frontend.Gateway }

var _ frontend.Frontend = (*Frontend)(nil)

// New makes the frontend of a gateway.
func New(g frontend.Gateway) *Frontend { return &Frontend{gateway: g} }

// Name is "api".
func (f *Frontend) Name() string { return Name }

// Routes are the rows of contract §6 that this version has.
func (f *Frontend) Routes() []carrier.Route {
	return []carrier.Route{
		{Method: "GET", Path: "/openapi.json", Handle: f.openapi, Public: true},
		{Method: "GET", Path: "/v1/threads", Handle: f.threads},
		{Method: "GET", Path: "/v1/threads/{thread}", Handle: f.readThread},
		{Method: "DELETE", Path: "/v1/threads/{thread}", Handle: f.deleteThread},
		{Method: "GET", Path: "/v1/threads/{thread}/invocations", Handle: f.list},
		{Method: "POST", Path: "/v1/threads/{thread}/resolve", Handle: f.resolveAll, Body: true},
		{Method: "POST", Path: "/v1/threads/{thread}/continue", Handle: f.continueThread, Body: true},
		{Method: "POST", Path: "/v1/threads/{thread}/stop", Handle: f.stopThread, Body: true},
		{Method: "GET", Path: "/v1/threads/{thread}/events", Handle: f.events},
		{Method: "GET", Path: "/v1/invocations", Handle: f.listAll},
		{Method: "GET", Path: "/v1/invocations/{id}", Handle: f.read},
		{Method: "POST", Path: "/v1/invocations/{id}/resolve", Handle: f.resolve, Body: true},
	}
}

func (f *Frontend) openapi(r *carrier.Request) error { return r.JSON(200, OpenAPI) }

// list answers {"invocations":[…]} of one thread, oldest first.
func (f *Frontend) list(r *carrier.Request) error {
	want, err := state(r)
	if err != nil {
		return err
	}
	ctx, release := r.Context(0)
	defer release()
	list, err := f.gateway.Invocations(ctx, r.Principal, thread(r), want)
	if err != nil {
		return err
	}
	return r.JSON(200, appendNext(appendInvocations([]byte(`{"invocations":`), list), ""))
}

// listAll answers {"invocations":[…]} over all threads of the caller.
func (f *Frontend) listAll(r *carrier.Request) error {
	q := frontend.InvocationQuery{Tool: r.Query("tool")}
	var err error
	if q.State, err = state(r); err != nil {
		return err
	}
	if q.Page, err = page(r); err != nil {
		return err
	}
	ctx, release := r.Context(0)
	defer release()
	list, next, err := f.gateway.AllInvocations(ctx, r.Principal, q)
	if err != nil {
		return err
	}
	return r.JSON(200, appendNext(appendInvocations([]byte(`{"invocations":`), list), next))
}

func appendInvocations(b []byte, list []*tool.Invocation) []byte {
	b = append(b, '[')
	for i, inv := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = inv.AppendPublic(b)
	}
	return append(b, ']')
}

// read answers {"invocation":{…}}, at once or when it is final or the wait over.
func (f *Frontend) read(r *carrier.Request) error {
	wait, err := waiting(r.Query("wait"))
	if err != nil {
		return err
	}
	ctx, release := r.Context(0)
	defer release()
	inv, err := f.gateway.Invocation(ctx, r.Principal, r.Param("id"), wait)
	if err != nil {
		return err
	}
	return r.JSON(200, append(inv.AppendPublic([]byte(`{"invocation":`)), '}'))
}

func waiting(s string) (time.Duration, error) {
	if s == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return 0, fault.New(fault.InvalidRequest, "wait is a duration such as 30s; at most a minute is waited").At("wait")
	}
	return d, nil
}

// resolve settles one call.
func (f *Frontend) resolve(r *carrier.Request) error {
	a, err := decodeAnswer(r.Body(), "", false)
	if err != nil {
		return err
	}
	ctx, release := r.Context(0)
	defer release()
	done, err := f.gateway.Resolve(ctx, r.Principal, r.Param("id"), a)
	if err != nil {
		return err
	}
	return r.JSON(200, appendResolved(nil, done))
}

// resolveAll settles a round, all or nothing.
func (f *Frontend) resolveAll(r *carrier.Request) error {
	body, err := object(r.Body(), "", "results")
	if err != nil {
		return err
	}
	items, err := strictjson.ArrayOf(body.Get("results"))
	if err != nil || len(items) == 0 {
		return fault.New(fault.InvalidRequest, "results is an array of at least one answer").At("/results")
	}
	answers := make([]frontend.Answer, len(items))
	for i, raw := range items {
		if answers[i], err = decodeAnswer(raw, pointer("/results", i), true); err != nil {
			return err
		}
	}
	ctx, release := r.Context(0)
	defer release()
	done, err := f.gateway.ResolveAll(ctx, r.Principal, thread(r), answers)
	if err != nil {
		return err
	}
	b := []byte(`{"results":[`)
	for i, d := range done {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendResolved(b, d)
	}
	return r.JSON(200, append(b, "]}"...))
}

func appendResolved(b []byte, d frontend.Resolved) []byte {
	b = d.Invocation.AppendPublic(append(b, `{"invocation":`...))
	if d.Replayed {
		return append(b, `,"replayed":true}`...)
	}
	return append(b, `,"replayed":false}`...)
}
