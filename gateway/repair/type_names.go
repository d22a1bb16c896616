package repair

import "github.com/aguigate/aguigate/protocol/agui"

// longestType is the length of the longest known type.
const longestType = len("TEXT_MESSAGE_CONTENT") + 8

// bareTypes finds a known type by its letters alone.
var bareTypes = func() map[string]agui.Type {
	m := map[string]agui.Type{}
	for _, t := range typesOf {
		if t != "" {
			m[bare(string(t))] = t
		}
	}
	return m
}()

// bare is a name without separators, in small letters.
func bare(s string) string {
	b := make([]byte, 0, len(s))
	for i := range len(s) {
		switch c := s[i]; {
		case c == '_' || c == '-' || c == '.' || c == ' ':
		case c >= 'A' && c <= 'Z':
			b = append(b, c+'a'-'A')
		default:
			b = append(b, c)
		}
	}
	return string(b)
}

// typeNames reads types in another spelling. Types the protocol does not know in
// any spelling stay as they are [RUN-11]. Clients compare types letter by letter,
// so no client would read the event otherwise.
func (c *Chain) typeNames(e *event) bool {
	if len(e.f.Type) > longestType {
		return true
	}
	t, ok := bareTypes[bare(string(e.f.Type))]
	if !ok || !sounds(t, e.f) {
		return true
	}
	raw, n := e.f.WithText("type", string(t)).Raw, 0
	if c.active(rowFieldNames) { // whoever misspells one misspells all
		raw, n = respelt(raw, kindOf(t))
	}
	f, err := agui.ParseFrame(raw)
	if err != nil {
		return true // under its right type it would be refused [SEC-1]
	}
	c.did(rowTypeNames)
	if n > 0 {
		c.did(rowFieldNames)
	}
	e.load(f)
	return true
}

// sounds keeps "raw" and "custom", which are words of other protocols too, from
// being read as ours without the fields ours have.
func sounds(t agui.Type, f agui.Frame) bool {
	switch t {
	case agui.Raw:
		return f.Field("event") != nil
	case agui.Custom:
		return f.Field("name") != nil && f.Field("value") != nil
	}
	return true
}
