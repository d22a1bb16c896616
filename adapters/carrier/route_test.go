package carrier

import (
	"net/url"
	"strings"
	"testing"
)

func table(t testing.TB, paths ...string) routes {
	t.Helper()
	var list []Route
	for _, p := range paths {
		method, path, _ := strings.Cut(p, " ")
		list = append(list, Route{Method: method, Path: path, Handle: ok("{}")})
	}
	rt, err := newRoutes(list)
	if err != nil {
		t.Fatal(err)
	}
	return rt
}

func someRoutes(t testing.TB) routes {
	return table(t, "GET /", "GET /agents", "GET /agents/{agent}", "POST /agents/{agent}/run", "GET /agents/{id}/run",
		"GET /agents/list", "GET /v1/threads/{thread}/invocations", "GET /v1/{a}/{b}/x", "GET /copilotkit/agent/{id}/stop/{thread}")
}

func TestMatch(t *testing.T) {
	rt := someRoutes(t)
	for _, c := range []struct {
		path, pattern string // "" = none
		values        []string
	}{
		{"/", "/", nil},
		{"/agents", "/agents", nil},
		{"/agents/", "/agents/{agent}", []string{""}},
		{"/agents/shop", "/agents/{agent}", []string{"shop"}},
		{"/agents/list", "/agents/list", nil},
		{"/agents/%6cist", "/agents/list", nil},
		{"/agents/shop/run", "/agents/{agent}/run", []string{"shop"}},
		{"/agents//run", "/agents/{agent}/run", []string{""}},
		{"/agents/a%2Fb/run", "/agents/{agent}/run", []string{"a/b"}},
		{"/agents/a%252Fb/run", "/agents/{agent}/run", []string{"a%2Fb"}},
		{"/agents/a+b%20c/run", "/agents/{agent}/run", []string{"a+b c"}},
		{"/agents/%C3%A9", "/agents/{agent}", []string{"é"}},
		{"/agents/..", "/agents/{agent}", []string{".."}},
		{"/v1/threads/t/invocations", "/v1/threads/{thread}/invocations", []string{"t"}},
		{"/v1/threads/t/x", "/v1/{a}/{b}/x", []string{"threads", "t"}},
		{"/copilotkit/agent/a/stop/t", "/copilotkit/agent/{id}/stop/{thread}", []string{"a", "t"}},
		{"/Agents", "", nil},
		{"/agents/shop/run/", "", nil},
		{"//agents", "", nil},
		{"/a/b/c/d/e/f/g/h", "", nil},
		{"*", "", nil},
		{"", "", nil},
	} {
		sh, values, ok := rt.match(c.path)
		got := ""
		if sh != nil {
			got = sh.path
		}
		if !ok || got != c.pattern || strings.Join(values, "|") != strings.Join(c.values, "|") || len(values) != len(c.values) {
			t.Errorf("%q: %q %q, want %q %q", c.path, got, values, c.pattern, c.values)
		}
	}
}

// The names belong to the route, also where two methods share a path.
func TestParam(t *testing.T) {
	give := func(name string) Handler {
		return func(r *Request) error { return r.JSON(200, []byte(r.Param(name)+"|"+r.Param("none")+"|"+r.Route())) }
	}
	s := serve(t, Options{}, Route{Method: "GET", Path: "/x/{a}/{b}", Handle: give("b")}, Route{Method: "POST", Path: "/x/{c}/{d}", Handle: give("c")})
	p := s.dial()
	if _, body := p.send("GET /x/1/2%2f3?b=9 HTTP/1.1\r\nHost: x\r\n\r\n").answer(); body != "2/3||/x/{a}/{b}" {
		t.Error(body)
	}
	if _, body := p.send("POST /x/1/2 HTTP/1.1\r\nHost: x\r\n\r\n").answer(); body != "1||/x/{c}/{d}" {
		t.Error(body)
	}
}

func TestBadPatterns(t *testing.T) {
	h := ok("{}")
	for name, list := range map[string][]Route{
		"duplicate":        {{Method: "GET", Path: "/a", Handle: h}, {Method: "GET", Path: "/a", Handle: h}},
		"same shape":       {{Method: "GET", Path: "/a/{x}", Handle: h}, {Method: "GET", Path: "/a/{y}", Handle: h}},
		"ambiguous":        {{Method: "GET", Path: "/a/{x}/c", Handle: h}, {Method: "GET", Path: "/a/b/{y}", Handle: h}},
		"ambiguous, POST":  {{Method: "GET", Path: "/{x}/c", Handle: h}, {Method: "POST", Path: "/b/{y}", Handle: h}},
		"no slash":         {{Method: "GET", Path: "a", Handle: h}},
		"open brace":       {{Method: "GET", Path: "/{a", Handle: h}},
		"inner brace":      {{Method: "GET", Path: "/a{b}", Handle: h}},
		"empty name":       {{Method: "GET", Path: "/{}", Handle: h}},
		"repeated name":    {{Method: "GET", Path: "/{a}/{a}", Handle: h}},
		"no handler":       {{Method: "GET", Path: "/a"}},
		"no method":        {{Path: "/a", Handle: h}},
		"carrier's method": {{Method: "OPTIONS", Path: "/a", Handle: h}},
	} {
		if _, err := New(Options{}, list); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}

// A match never panics, gives as many values as the pattern has parameters, and
// agrees with the standard library on what the path means.
func FuzzMatch(f *testing.F) {
	for _, p := range []string{"/", "", "*", "/agents/a%2Fb/run", "/agents/%", "/agents/%2", "/agents/%zz/run", "//", "/v1/%00/\xff/x", "/agents/list/"} {
		f.Add(p)
	}
	rt := someRoutes(f)
	f.Fuzz(func(t *testing.T, path string) {
		sh, values, ok := rt.match(path)
		if sh == nil {
			if len(values) != 0 {
				t.Fatalf("values without a pattern")
			}
			return
		}
		if !ok || len(values) != len(sh.segments)-sh.literals {
			t.Fatalf("%q: %v %q", path, ok, values)
		}
		parts := strings.Split(path[1:], "/")
		i := 0
		for n, s := range sh.segments {
			want, err := url.PathUnescape(parts[n])
			if err != nil {
				t.Fatalf("%q was taken: %v", path, err)
			}
			if !s.param {
				if want != s.literal {
					t.Fatalf("%q matched %s", path, sh.path)
				}
				continue
			}
			if values[i] != want {
				t.Fatalf("%q: %q, want %q", path, values[i], want)
			}
			i++
		}
	})
}
