package agui

// Patches, outcomes and usage.
var (
	pathField  = fieldRule{name: "path", rule: aPointer, need: true}
	fromField  = fieldRule{name: "from", rule: aPointer, need: true}
	valueField = fieldRule{name: "value", rule: anything, need: true}
	opField    = fieldRule{name: "op", rule: aString, need: true}

	aPatch = listOf("an array of JSON Patch operations (RFC 6902)", tagged("an object with an op", "op",
		`"add", "remove", "replace", "move", "copy" or "test"`, map[string]*shape{
			"add":     {fields: []fieldRule{opField, pathField, valueField}},
			"replace": {fields: []fieldRule{opField, pathField, valueField}},
			"test":    {fields: []fieldRule{opField, pathField, valueField}},
			"remove":  {fields: []fieldRule{opField, pathField}},
			"move":    {fields: []fieldRule{opField, pathField, fromField}},
			"copy":    {fields: []fieldRule{opField, pathField, fromField}},
		}))

	anInterrupt = single("an object", &shape{fields: []fieldRule{
		{name: "id", rule: aString, need: true}, {name: "reason", rule: aString, need: true},
		{name: "message", rule: aString}, {name: "toolCallId", rule: aString}, {name: "responseSchema", rule: anObject},
		{name: "expiresAt", rule: aString}, {name: "subagentRunId", rule: aString}, metadataField}})

	anOutcome = tagged("an object with a type", "type", `"success", "interrupt" or "cancelled"`, map[string]*shape{
		"success": {spell: []string{"type"}, fields: []fieldRule{{name: "pendingToolCallIds", rule: stringList}}},
		"interrupt": {spell: []string{"type"}, fields: []fieldRule{{name: "interrupts", need: true,
			rule: rule{want: "an array of at least one interrupt", item: &anInterrupt, min: 1}}}},
		"cancelled": {spell: []string{"type"}},
	})

	aSubagentOutcome = tagged("an object with a type", "type", `"success" or "suspended"`, map[string]*shape{
		"success":   {spell: []string{"type"}},
		"suspended": {spell: []string{"type"}, fields: []fieldRule{{name: "interruptIds", rule: stringList}}},
	})

	usageField = fieldRule{name: "usage", rule: listOf("an array of token counts", single("an object", &shape{fields: []fieldRule{
		{name: "provider", rule: aString}, {name: "model", rule: aString},
		{name: "inputTokens", rule: aCount}, {name: "outputTokens", rule: aCount}, {name: "totalTokens", rule: aCount},
		{name: "reasoningTokens", rule: aCount}, {name: "cachedInputTokens", rule: aCount}, {name: "cacheWriteInputTokens", rule: aCount},
	}}))}
)

func needString(name string) fieldRule { return fieldRule{name: name, rule: aString, need: true} }
func mayString(name string) fieldRule  { return fieldRule{name: name, rule: aString} }

// eventFields is what each known type adds to the base, as in EventSchema of
// @ag-ui/core 1.0.0.
var eventFields = map[Type][]fieldRule{
	RunStarted: {needString("threadId"), needString("runId"), mayString("protocolVersion"), mayString("parentRunId"),
		{name: "input", rule: anEcho}},
	RunFinished: {needString("threadId"), needString("runId"), {name: "result", rule: notNull},
		{name: "outcome", rule: anOutcome}, usageField},
	RunError: {needString("message"), mayString("code"), usageField},

	StepStarted:  {needString("stepName")},
	StepFinished: {needString("stepName")},

	TextMessageStart:   {needString("messageId"), {name: "role", rule: textRole}, mayString("name")},
	TextMessageContent: {needString("messageId"), needString("delta")},
	TextMessageEnd:     {needString("messageId")},
	TextMessageChunk:   {mayString("messageId"), {name: "role", rule: textRole}, mayString("delta"), mayString("name")},

	ToolCallStart: {needString("toolCallId"), needString("toolCallName"), mayString("parentMessageId")},
	ToolCallArgs:  {needString("toolCallId"), needString("delta")},
	ToolCallEnd:   {needString("toolCallId")},
	ToolCallChunk: {mayString("toolCallId"), mayString("toolCallName"), mayString("parentMessageId"), mayString("delta")},
	ToolCallResult: {needString("messageId"), needString("toolCallId"), {name: "content", rule: textOrParts, need: true},
		{name: "role", rule: oneOf("tool")}},

	StateSnapshot:    {{name: "snapshot", rule: anything, need: true}},
	StateDelta:       {{name: "delta", rule: aPatch, need: true}},
	MessagesSnapshot: {{name: "messages", rule: messageList, need: true}},
	ActivitySnapshot: {needString("messageId"), needString("activityType"), {name: "content", rule: anObject, need: true},
		{name: "replace", rule: aBool}},
	ActivityDelta: {needString("messageId"), needString("activityType"), {name: "patch", rule: aPatch, need: true}},

	Raw:    {{name: "event", rule: anything, need: true}, mayString("source")},
	Custom: {needString("name"), {name: "value", rule: anything, need: true}},

	ReasoningStart:          {needString("messageId")},
	ReasoningMessageStart:   {needString("messageId"), {name: "role", rule: oneOf("reasoning"), need: true}},
	ReasoningMessageContent: {needString("messageId"), needString("delta")},
	ReasoningMessageEnd:     {needString("messageId")},
	ReasoningMessageChunk:   {mayString("messageId"), mayString("delta")},
	ReasoningEnd:            {needString("messageId")},
	ReasoningEncryptedValue: {{name: "subtype", rule: oneOf("tool-call", "message"), need: true},
		needString("entityId"), needString("encryptedValue")},

	SubagentStarted: {needString("subagentRunId"), needString("name"), mayString("description"),
		mayString("parentSubagentRunId"), mayString("parentToolCallId"), mayString("parentMessageId")},
	SubagentFinished: {needString("subagentRunId"), {name: "result", rule: notNull}, {name: "outcome", rule: aSubagentOutcome}},
	SubagentError:    {needString("subagentRunId"), needString("message"), mayString("code")},
}

var textRole = oneOf("developer", "system", "assistant", "user")

// eventShapes holds the whole shape of each known type; otherEvent is that of a
// type the protocol does not know.
var (
	otherEvent  = single("an object", eventShape(mayString("subagentRunId")))
	eventShapes = func() map[string]*rule {
		m := make(map[string]*rule, len(eventFields))
		for t, own := range eventFields {
			if attributable(t) {
				own = append(own[:len(own):len(own)], mayString("subagentRunId"))
			}
			r := single("an object", eventShape(own...))
			m[string(t)] = &r
		}
		return m
	}()
)

func eventShape(own ...fieldRule) *shape {
	return &shape{fields: append([]fieldRule{needString("type"), {name: "timestamp", rule: anInteger},
		{name: "rawEvent", rule: notNull}, metadataField}, own...)}
}

// attributable reports whether events of type t may belong to one subagent and
// do not name theirs already.
func attributable(t Type) bool {
	switch t {
	case RunStarted, RunFinished, RunError, MessagesSnapshot, SubagentStarted, SubagentFinished, SubagentError:
		return false
	}
	return true
}

// ruleOf gives the rule for events of type t.
func ruleOf(t Type) *rule {
	if r := eventShapes[string(t)]; r != nil {
		return r
	}
	return &otherEvent
}
