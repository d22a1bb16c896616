package wire

// spread names a member of JSON that protobuf spreads over several fields.
type spread uint8

const (
	whole spread = iota // none
	contentOfMessage
	contentOfResult
	outcomeOfRun
	outcomeOfSubagent
)

// place is the field where the member is written in JSON.
func (s spread) place() int {
	return [...]int{contentOfMessage: messageContent, contentOfResult: resultContent, outcomeOfRun: runOutcome,
		outcomeOfSubagent: subagentOutcome}[s]
}

// apart puts the parts of the member into the fields they go with.
func (s spread) apart(fields *slots) *problem {
	switch s {
	case contentOfMessage:
		return splitContent(fields, roleOf(textIn(fields[messageRole])), messageContent, messageParts, messageActivity)
	case contentOfResult:
		return splitContent(fields, partsRole, resultContent, resultParts, resultParts)
	case outcomeOfRun:
		return splitRun(fields)
	}
	return splitSubagent(fields)
}

// together writes the member from the fields it came in.
func (e *emitter) together(s spread, fields []got) *problem {
	switch s {
	case contentOfMessage:
		return joinContent(e, fields, roleOf(string(fields[messageRole].b)), messageContent, messageParts, messageActivity)
	case contentOfResult:
		return joinContent(e, fields, partsRole, resultContent, resultParts, most-1)
	case outcomeOfRun:
		return joinRun(e, fields)
	}
	return joinSubagent(e, fields)
}

// splitContent sorts content by its JSON type: a string stays, an array of parts
// and an activity's object have fields of their own.
func splitContent(s *slots, role roleKind, content, parts, activity int) *problem {
	raw := s[content]
	if raw == nil || isNull(raw) {
		if role == partsRole { // it would be read as no parts
			return bad("is missing").under("content")
		}
		s[content] = nil
		return nil
	}
	switch {
	case raw[0] == '"' && role != activityRole:
	case raw[0] == '[' && (role == partsRole || role == otherRole):
		s[content], s[parts] = nil, raw
	case raw[0] == '{' && (role == activityRole || role == otherRole):
		s[content], s[activity] = nil, raw
	default:
		return bad("has a form that its role does not have").under("content")
	}
	return nil
}

// roleKind is what a role's content may be.
type roleKind uint8

const (
	textRole     roleKind = iota // a string
	partsRole                    // a string or parts
	activityRole                 // an object
	otherRole                    // no role of 1.0: whatever is there
)

func roleOf(name string) roleKind {
	switch name {
	case "developer", "system", "assistant", "reasoning":
		return textRole
	case "user", "tool":
		return partsRole
	case "activity":
		return activityRole
	}
	return otherRole
}

// splitRun spreads RUN_FINISHED.outcome over three fields.
func splitRun(s *slots) *problem {
	raw := s[runOutcome]
	kind, p := outcomeType(s, runOutcome)
	if p != nil {
		return p
	}
	switch kind {
	case "success":
		s[runPending] = memberOf(raw, "pendingToolCallIds")
	case "interrupt":
		if s[runInterrupts] = memberOf(raw, "interrupts"); s[runInterrupts] == nil {
			return bad("is missing").under("interrupts").under("outcome")
		}
	}
	return nil
}

func splitSubagent(s *slots) *problem {
	raw := s[subagentOutcome]
	kind, p := outcomeType(s, subagentOutcome)
	if kind == "suspended" {
		s[subagentInterrupts] = memberOf(raw, "interruptIds")
	}
	return p
}

// outcomeType puts an outcome's type in its place. One without a type is an
// outcome a 1.0 client drops, so it is left out.
func outcomeType(s *slots, at int) (string, *problem) {
	raw := s[at]
	if raw == nil || isNull(raw) {
		return "", nil
	}
	if raw[0] != '{' {
		return "", bad("must be an object").under("outcome")
	}
	if s[at] = memberOf(raw, "type"); len(s[at]) == 0 || s[at][0] != '"' {
		s[at] = nil
		return "", nil
	}
	return textIn(s[at]), nil
}

// joinContent writes a message's content from the one of its three fields that
// its role uses. More than one is no event any encoder writes.
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
