package carrier

import (
	"strings"

	"github.com/valyala/fasthttp"
)

// exposed are the answer headers a page may read [CORS-1]. What a handler adds
// under X-Aguigate- is appended.
const exposed = "Retry-After, X-Request-Id, X-Aguigate-Code, X-Aguigate-Ignored-Tools"

// preflightAge is how long a browser may remember a preflight, in seconds.
// Chromium cuts it to two hours.
const preflightAge = "600"

// options prepares the answer to OPTIONS: a preflight when a page asks for a
// method, else the list of methods.
func (r *Request) options(h *fasthttp.RequestHeader, sh *shape, verbs string) {
	r.allow = verbs
	if sh != nil {
		r.allow = sh.allow
	}
	r.preflight = true
	if len(h.Peek("Origin")) == 0 || len(h.Peek("Access-Control-Request-Method")) == 0 {
		return
	}
	r.asked = true
	r.askedHeaders = fieldNames(string(h.Peek("Access-Control-Request-Headers")))
}

// fieldNames echoes a list of field names, or nothing if one of them is none.
// Naming them beats "*", which does not cover Authorization.
func fieldNames(v string) string {
	if v == "" || len(v) > 2000 {
		return ""
	}
	for name := range strings.SplitSeq(v, ",") {
		if !isToken(strings.TrimSpace(name)) {
			return ""
		}
	}
	return v
}

// corsHeaders go on every answer, refusals and streams included.
func (r *Request) corsHeaders(h *fasthttp.ResponseHeader) {
	h.Set("Vary", "Origin")
	if r.origin == "" {
		return
	}
	h.Set("Access-Control-Allow-Origin", r.origin)
	if r.policy.credentials {
		h.Set("Access-Control-Allow-Credentials", "true")
	}
	h.Set("Access-Control-Expose-Headers", exposed)
}

// answerOptions is 204 with what the page asked for, or 204 with Allow.
func (r *Request) answerOptions() {
	h := &r.ctx.Response.Header
	h.Set("Allow", r.allow)
	if r.asked {
		h.Set("Vary", "Origin, Access-Control-Request-Method, Access-Control-Request-Headers")
	}
	if r.asked && r.origin != "" {
		h.Set("Access-Control-Allow-Methods", r.allow)
		h.Set("Access-Control-Max-Age", preflightAge)
		if r.askedHeaders != "" {
			h.Set("Access-Control-Allow-Headers", r.askedHeaders)
		}
	}
	r.NoContent()
}
