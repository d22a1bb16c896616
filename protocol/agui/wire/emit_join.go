package wire

// joinMessage writes a message's content from the one of its three fields that
// its role uses. More than one is no event any encoder writes.
func joinMessage(e *emitter, s []got) *problem {
	return joinContent(e, s, roleOf(string(s[messageRole].b)), messageContent, messageParts, messageActivity)
}

func joinResult(e *emitter, s []got) *problem {
	return joinContent(e, s, partsRole, resultContent, resultParts, most-1)
}

func joinContent(e *emitter, s []got, role roleKind, content, parts, activity int) *problem {
	text, list, object := s[content], s[parts], s[activity]
	forms := 0
	for _, form := range []got{text, list, object} {
		if form.set {
			forms++
		}
	}
	switch {
	case forms > 1:
		return bad("has two forms at once").under("content")
	case list.set && (role == textRole || role == activityRole),
		object.set && (role == textRole || role == partsRole),
		text.set && role == activityRole:
		return bad("has a form that its role does not have").under("content")
	case list.set || role == partsRole && !text.set: // no parts are parts too
		return e.member(&contentParts, list)
	case object.set:
		return e.member(&contentObject, object)
	case text.set:
		return e.member(&contentText, text)
	}
	return nil
}

// The forms of content under their name in JSON.
var (
	contentText   = may("content")
	contentParts  = many(list, "content", part)
	contentObject = object("content")

	pendingCalls = many(texts, "pendingToolCallIds", nil)
	interrupts   = many(mayList, "interrupts", interrupt)
	someRequired = many(list, "interrupts", interrupt)
	interruptIDs = many(texts, "interruptIds", nil)
)

// joinRun writes RUN_FINISHED.outcome. What came without belonging to the
// outcome's type is written too, and judged where JSON is judged.
func joinRun(e *emitter, s []got) *problem {
	kind := string(s[runOutcome].b)
	if kind == "" {
		return e.all(item{&pendingCalls, s[runPending]}, item{&interrupts, s[runInterrupts]})
	}
	asked := &interrupts
	if kind == "interrupt" {
		asked = &someRequired
	}
	return e.outcome(s[runOutcome].b, item{asked, s[runInterrupts]}, item{&pendingCalls, s[runPending]})
}

func joinSubagent(e *emitter, s []got) *problem {
	if len(s[subagentOutcome].b) == 0 {
		return e.all(item{&interruptIDs, s[subagentInterrupts]})
	}
	return e.outcome(s[subagentOutcome].b, item{&interruptIDs, s[subagentInterrupts]})
}

type item struct {
	field *field
	got   got
}

func (e *emitter) all(items ...item) *problem {
	for _, i := range items {
		if p := e.member(i.field, i.got); p != nil {
			return p
		}
	}
	return nil
}

func (e *emitter) outcome(kind []byte, items ...item) *problem {
	e.key("outcome")
	if p := e.begin('{'); p != nil {
		return p
	}
	e.key("type")
	if p := e.text(kind); p != nil {
		return p.under("type").under("outcome")
	}
	if p := e.all(items...); p != nil {
		return p.under("outcome")
	}
	e.end('}')
	return nil
}
