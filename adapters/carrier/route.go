package carrier

import (
	"fmt"
	"slices"
	"sort"
	"strings"
)

// shape is one path pattern with the routes of its methods. names differ per
// route, places do not.
type shape struct {
	path     string
	segments []segment
	literals int
	methods  map[string]*bound
	allow    string // value of the Allow header
}

type segment struct {
	literal string
	param   bool
}

type bound struct {
	Route
	names []string // of the parameters, left to right
}

// routes finds the route of a path. Patterns that could both claim a path with
// neither being the more special one are refused when it is made, so the order
// of registration never matters.
type routes struct {
	list   []Route
	byLen  map[int][]*shape // by number of segments, the most literal first
	verbs  string           // all methods, for preflights of unknown paths
	longer int              // most segments of any pattern
}

func newRoutes(list []Route) (routes, error) {
	rt := routes{list: append([]Route(nil), list...), byLen: map[int][]*shape{}}
	verbs := map[string]bool{}
	for i := range rt.list {
		if err := rt.add(rt.list[i]); err != nil {
			return routes{}, err
		}
		verbs[rt.list[i].Method] = true
	}
	for _, shapes := range rt.byLen {
		sort.SliceStable(shapes, func(i, j int) bool { return shapes[i].literals > shapes[j].literals })
		for _, sh := range shapes {
			sh.allow = methodList(sh.methods)
		}
	}
	rt.verbs = methodList(verbs)
	return rt, nil
}

func (rt *routes) add(r Route) error {
	segments, names, err := parsePattern(r.Path)
	if err != nil {
		return err
	}
	if r.Method == "" || r.Method == "OPTIONS" || r.Method == "HEAD" || r.Handle == nil {
		return fmt.Errorf("carrier: route %q needs a handler and a method other than OPTIONS and HEAD", r.Path)
	}
	rt.longer = max(rt.longer, len(segments))
	sh, err := rt.shapeOf(r.Path, segments)
	if err != nil {
		return err
	}
	if old, dup := sh.methods[r.Method]; dup {
		return fmt.Errorf("carrier: %s %s is there already, as %s", r.Method, r.Path, old.Path)
	}
	sh.methods[r.Method] = &bound{Route: r, names: names}
	return nil
}

// shapeOf gives the shape with these segments, a new one unless it would clash.
func (rt *routes) shapeOf(path string, segments []segment) (*shape, error) {
	n := len(segments)
	for _, sh := range rt.byLen[n] {
		switch relate(sh.segments, segments) {
		case same:
			return sh, nil
		case ambiguous:
			return nil, fmt.Errorf("carrier: %s and %s match the same paths and neither is the more special", sh.path, path)
		}
	}
	sh := &shape{path: path, segments: segments, methods: map[string]*bound{}}
	for _, s := range segments {
		if !s.param {
			sh.literals++
		}
	}
	rt.byLen[n] = append(rt.byLen[n], sh)
	return sh, nil
}

type relation int

const (
	ordered relation = iota // apart, or one is more special than the other
	same
	ambiguous
)

func relate(a, b []segment) relation {
	var aWider, bWider bool
	for i := range a {
		switch {
		case a[i].param && !b[i].param:
			aWider = true
		case !a[i].param && b[i].param:
			bWider = true
		case a[i].literal != b[i].literal:
			return ordered // no path matches both
		}
	}
	switch {
	case aWider && bWider:
		return ambiguous
	case aWider || bWider:
		return ordered
	}
	return same
}

func parsePattern(path string) (segments []segment, names []string, err error) {
	if !strings.HasPrefix(path, "/") {
		return nil, nil, fmt.Errorf("carrier: pattern %q must begin with a slash", path)
	}
	for part := range strings.SplitSeq(path[1:], "/") {
		name, isParam := strings.CutPrefix(part, "{")
		if !isParam {
			if strings.ContainsAny(part, "{}%?#") {
				return nil, nil, fmt.Errorf("carrier: pattern %q has a segment that is neither plain nor {name}", path)
			}
			segments = append(segments, segment{literal: part})
			continue
		}
		name, closed := strings.CutSuffix(name, "}")
		if !closed || name == "" || strings.ContainsAny(name, "{}") || slices.Contains(names, name) {
			return nil, nil, fmt.Errorf("carrier: pattern %q has a bad or repeated parameter", path)
		}
		segments = append(segments, segment{param: true})
		names = append(names, name)
	}
	return segments, names, nil
}

// match finds the shape of a raw path (no query) and the decoded values of its
// parameters. ok is false when the path is no valid percent-encoding.
func (rt *routes) match(path string) (sh *shape, values []string, ok bool) {
	if !strings.HasPrefix(path, "/") {
		return nil, nil, true
	}
	parts := make([]string, 0, 8)
	for part := range strings.SplitSeq(path[1:], "/") {
		if len(parts) == rt.longer {
			return nil, nil, true // longer than every pattern
		}
		part, ok = unescape(part)
		if !ok {
			return nil, nil, false
		}
		parts = append(parts, part)
	}
	for _, sh := range rt.byLen[len(parts)] {
		if sh.matches(parts) {
			return sh, sh.pick(parts), true
		}
	}
	return nil, nil, true
}

func (sh *shape) matches(parts []string) bool {
	for i, s := range sh.segments {
		if !s.param && s.literal != parts[i] {
			return false
		}
	}
	return true
}

func (sh *shape) pick(parts []string) []string {
	values := make([]string, 0, len(parts)-sh.literals)
	for i, s := range sh.segments {
		if s.param {
			values = append(values, parts[i])
		}
	}
	return values
}

// route is the route for a method; HEAD is served like GET.
func (sh *shape) route(method string) *bound {
	if b, ok := sh.methods[method]; ok {
		return b
	}
	if method == "HEAD" {
		return sh.methods["GET"]
	}
	return nil
}

// unescape decodes %XX once; "+" stays a plus (RFC 3986 §2.1).
func unescape(s string) (string, bool) {
	if strings.IndexByte(s, '%') < 0 {
		return s, true
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			b = append(b, s[i])
			continue
		}
		if i+2 >= len(s) {
			return "", false
		}
		hi, ok1 := unhex(s[i+1])
		lo, ok2 := unhex(s[i+2])
		if !ok1 || !ok2 {
			return "", false
		}
		b = append(b, hi<<4|lo)
		i += 2
	}
	return string(b), true
}

func unhex(c byte) (byte, bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10, true
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}

// methodList is a sorted list for Allow, with the methods the carrier itself adds.
func methodList[V any](methods map[string]V) string {
	list := []string{"OPTIONS"}
	for m := range methods {
		list = append(list, m)
		if m == "GET" {
			list = append(list, "HEAD")
		}
	}
	sort.Strings(list)
	return strings.Join(list, ", ")
}
