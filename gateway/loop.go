package gateway

import (
	"github.com/aguigate/aguigate/protocol/agui"
	"github.com/aguigate/aguigate/protocol/strictjson"
)

// loopGuard counts equal calls, same tool and same arguments, since somebody last
// said something: an agent that makes one again and again does not read its
// result, and goes on for ever (F008). Equal calls of one message, or one run, count
// once: they were made side by side.
type loopGuard struct {
	limit int
	made  map[string]int
	now   map[string]bool // of this run
}

// newLoopGuard counts what the conversation has; limit 0 guards nothing.
func newLoopGuard(limit int, list []agui.Message, led *ledger) *loopGuard {
	g := &loopGuard{limit: limit, made: map[string]int{}, now: map[string]bool{}}
	if limit == 0 {
		return g
	}
	from := len(list)
	for from > 0 && list[from-1].Role != agui.RoleUser {
		from--
	}
	for _, m := range list[from:] {
		once := map[string]bool{}
		for _, c := range m.ToolCalls {
			arguments := c.Arguments
			if _, inv := led.call(c.ID); inv != nil {
				arguments = inv.Arguments // as they were made, whatever the client says
			}
			if name := callName(c.Name, []byte(arguments)); !once[name] {
				once[name] = true
				g.made[name]++
			}
		}
	}
	return g
}

// allows counts one more call and reports whether it may be made.
func (g *loopGuard) allows(tool string, arguments []byte) bool {
	if g.limit == 0 {
		return true
	}
	name := callName(tool, arguments)
	if !g.now[name] {
		g.now[name] = true
		g.made[name]++
	}
	return g.made[name] < g.limit
}

func callName(tool string, arguments []byte) string {
	canonical, err := strictjson.Canonical(nil, arguments)
	if err != nil {
		canonical = arguments
	}
	return tool + "\x00" + string(canonical)
}
