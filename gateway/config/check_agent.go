package config

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

var (
	toolName    = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`)
	toolPattern = regexp.MustCompile(`^[A-Za-z0-9_.*-]{1,128}$`)
	digest      = regexp.MustCompile(`^[0-9a-f]{64}$`)
	headerName  = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$") // RFC 9110 §5.6.2
)

// Headers that belong to one connection or to the body the gateway writes
// itself: RFC 9110 §7.6.1, and what would split or re-frame a request.
var framing = []string{
	"connection", "content-encoding", "content-length", "expect", "host", "http2-settings", "keep-alive",
	"proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
}

// Headers that hold a caller's credential, or name the caller to us. They end at
// the gateway [UP-2].
var credentials = []string{
	"authorization", "cookie", "cookie2", "proxy-authorization", "set-cookie", "sec-websocket-protocol",
	"x-aguigate-identity", "x-api-key", "xi-api-key",
}

// Headers of the request the gateway writes for itself.
var ours = []string{"accept", "accept-encoding", "content-type", "last-event-id"}

func (d *decoder) checkAgent(a *Agent, l *Limits) {
	path := join("agents", a.Name)
	for i, t := range a.Allow.Tenants {
		if !isName(t) {
			d.wrong(place(path+".allow.tenants", i), "must be 1 to 256 bytes without control characters, or *")
		}
	}
	if len(a.Allow.Tenants) == 0 {
		d.wrong(path+".allow.tenants", "leaves out everybody; name a tenant, or *")
	}
	if len(a.Allow.Roles) == 0 {
		d.wrong(path+".allow.roles", "leaves out everybody; name a role")
	}
	d.checkUpstream(&a.Upstream, path+".upstream")
	d.checkTools(a.Tools, path+".tools", l)
	d.checkClientTools(a, path+".client_tools")
}

func (d *decoder) checkUpstream(u *Upstream, path string) {
	switch {
	case d.bad[path+".kind"]: // what the url should be is not known
	case u.Kind == "demo" && u.URL != "":
		d.wrong(path+".url", "kind demo has no url; it runs inside the gateway")
	case u.Kind == "agui":
		d.checkURL(u.URL, path+".url")
	}
	d.checkHeaderNames(u.Headers, path+".headers")
	for _, h := range u.Headers {
		if strings.ContainsFunc(h.Value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
			d.wrong(join(path+".headers", h.Name), "a header's value has no control characters, CR, LF and NUL least of all [SEC-5]")
		}
	}
	d.checkHeaderNames(u.IdentityHeaders, path+".identity_headers")
	for _, h := range u.IdentityHeaders {
		inner := join(path+".identity_headers", h.Name)
		if h.Value != "subject" && h.Value != "tenant" {
			d.wrong(inner, "is not one of the allowed words: subject, tenant")
		}
		if slices.ContainsFunc(u.Headers, func(o Header) bool { return strings.EqualFold(o.Name, h.Name) }) {
			d.wrong(inner, "is in headers too; one name takes one value")
		}
	}
	for i, name := range u.ForwardHeaders {
		d.checkForwarded(name, place(path+".forward_headers", i))
	}
}

// checkURL wants an absolute URL; the message never repeats it, since a query may
// hold a token.
func (d *decoder) checkURL(text, path string) {
	u, err := url.Parse(text)
	switch {
	case text == "":
		d.wrong(path, "kind agui needs a url, such as http://127.0.0.1:8000/agent")
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		d.wrong(path, "must be an absolute http or https URL, such as http://127.0.0.1:8000/agent")
	case u.User != nil:
		d.wrong(path, "must not hold a user or password; put credentials into headers")
	case strings.Contains(text, "#"):
		d.wrong(path, "must not have a fragment; it is never sent")
	}
}

func (d *decoder) checkHeaderNames(hs Headers, path string) {
	seen := map[string]string{}
	for _, h := range hs {
		inner, lower := join(path, h.Name), strings.ToLower(h.Name)
		switch first, twice := seen[lower]; {
		case !headerName.MatchString(h.Name):
			d.wrong(inner, "is not a header name")
		case twice:
			d.wrong(inner, "is the same header as %s", first)
		case slices.Contains(framing, lower):
			d.wrong(inner, "belongs to the connection and cannot be configured")
		case slices.Contains(ours, lower):
			d.wrong(inner, "is written by the gateway itself")
		}
		seen[lower] = h.Name
	}
}

func (d *decoder) checkForwarded(name, path string) {
	switch lower := strings.ToLower(name); {
	case !headerName.MatchString(name):
		d.wrong(path, "is not a header name")
	case lower == "authorization":
		d.wrong(path, "credentials are not forwarded by name; see forward_client_credentials")
	case slices.Contains(credentials, lower):
		d.wrong(path, "holds a credential or names the caller, and ends at the gateway [UP-2]")
	case slices.Contains(framing, lower):
		d.wrong(path, "belongs to the connection and cannot be forwarded")
	case slices.Contains(ours, lower):
		d.wrong(path, "is written by the gateway itself")
	}
}

func (d *decoder) checkTools(tools []Tool, path string, l *Limits) {
	if len(tools) > l.Tools {
		d.wrong(path, "has %d tools; limits.tools allows %d", len(tools), l.Tools)
	}
	seen := map[string]int{}
	for i, t := range tools {
		inner := place(path, i)
		if first, twice := seen[t.Name]; twice && t.Name != "" {
			d.wrong(inner+".name", "is the name of %s too", place(path, first))
		} else {
			seen[t.Name] = i
		}
		if !toolName.MatchString(t.Name) {
			d.wrong(inner+".name", "a tool's name must match %s", toolName)
		}
		if !utf8.ValidString(t.Description) || len(t.Description) > int(l.ToolDescription) {
			d.wrong(inner+".description", "is longer than limits.tool_description, %d bytes", l.ToolDescription)
		}
		d.checkSchema(t.Parameters, inner+".parameters", l)
		d.checkSchema(t.Output, inner+".output", l)
	}
}

func (d *decoder) checkClientTools(a *Agent, path string) {
	c := &a.ClientTools
	for i, r := range c.Allow {
		inner := place(path+".allow", i)
		switch {
		case !toolPattern.MatchString(r.Name):
			d.wrong(inner, "needs a tool's name, or a pattern with *")
		case r.SchemaSHA256 != "" && !digest.MatchString(r.SchemaSHA256):
			d.wrong(inner+".schema_sha256", "must be 64 hexadecimal digits in lower case")
		case r.SchemaSHA256 != "" && r.Text != "":
			d.wrong(inner+".text", "takes the schema from the configuration, so that schema_sha256 has nothing to pin")
		case r.Text != "" && !strings.Contains(r.Name, "*") && !hasText(a.Tools, r.Name):
			d.wrong(inner+".text", "no client tool of this name is configured in tools, so there is no text to take")
		}
	}
	for i, name := range c.Deny {
		if !toolPattern.MatchString(name) {
			d.wrong(place(path+".deny", i), "must be a tool's name, or a pattern with *")
		}
	}
}

// hasText reports whether the configuration has a client tool of that name.
func hasText(tools []Tool, name string) bool {
	return slices.ContainsFunc(tools, func(t Tool) bool { return t.Name == name && t.Handler == "client" })
}
