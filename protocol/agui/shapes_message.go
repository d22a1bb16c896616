package agui

import "errors"

// single is a rule for an object of one shape.
func single(want string, s *shape) rule {
	return rule{want: want, pick: func([]byte) *shape { return s }}
}

// listOf is a rule for an array of items.
func listOf(want string, item rule) rule { return rule{want: want, item: &item} }

// tagged is a rule for a union told apart by the string under tag.
func tagged(want, tag, tags string, of map[string]*shape) rule {
	return rule{want: want, tag: tag, tags: tags, pick: func(raw []byte) *shape {
		v := field(raw, tag)
		if !isString(v) {
			return nil
		}
		if s := of[string(v[1:len(v)-1])]; s != nil {
			return s
		}
		return of[text(v)]
	}}
}

var metadataField = fieldRule{name: "metadata", rule: anObject}

// Content parts and their sources.
var (
	mimeTypeField = fieldRule{name: "mimeType", rule: aString}
	sourceKeys    = []string{"type", "value", "mimeType", "provider"}

	aSource = tagged("an object with a type", "type", `"data", "url" or "file"`, map[string]*shape{
		"data": {spell: sourceKeys, fields: []fieldRule{
			{name: "value", rule: aString, need: true}, {name: "mimeType", rule: aString, need: true}}},
		"url":  {spell: sourceKeys, fields: []fieldRule{{name: "value", rule: aString, need: true}, mimeTypeField}},
		"file": {spell: sourceKeys, fields: []fieldRule{{name: "value", rule: aString, need: true}, {name: "provider", rule: aString}, mimeTypeField}},
	})

	partKeys = []string{"type", "id", "text", "source", "metadata", "mimeType", "url", "data", "filename"}
	media    = &shape{spell: partKeys, fields: []fieldRule{
		{name: "id", rule: aString}, {name: "source", rule: aSource, need: true}, {name: "metadata", rule: notNull}}}

	aPart = tagged("an object with a type", "type", `"text", "image", "audio", "video" or "document"`, map[string]*shape{
		"text": {spell: partKeys, fields: []fieldRule{
			{name: "id", rule: aString}, {name: "text", rule: aString, need: true}, {name: "metadata", rule: notNull}}},
		"image": media, "audio": media, "video": media, "document": media,
		"binary": legacyBinary,
	})

	// legacyBinary is the media part of 0.0.x; clients still hold some in their
	// history and 1.0 clients convert it. Its rule between fields is theirs.
	legacyBinary = &shape{spell: partKeys, fields: []fieldRule{
		{name: "mimeType", rule: aString, need: true}, {name: "id", rule: aString}, {name: "url", rule: aString},
		{name: "data", rule: aString}, {name: "filename", rule: aString}},
		also: func(raw []byte) error {
			for _, k := range []string{"id", "url", "data"} {
				if v := field(raw, k); isString(v) && len(v) > 2 {
					return nil
				}
			}
			return errors.New("is a binary part without bytes; it needs one of id, url and data")
		}}

	textOrParts = rule{want: "a string or an array of parts", item: &aPart, orText: true}
)

// Messages.
var (
	messageKeys = []string{"id", "role", "content", "name", "toolCallId", "toolCalls", "error", "encryptedValue",
		"metadata", "subagentRunId", "activityType"}

	aToolCall = single("an object", &shape{spell: []string{"type"}, fields: []fieldRule{
		{name: "id", rule: anID, need: true}, {name: "type", rule: oneOf("function"), need: true},
		{name: "function", need: true, rule: single("an object with name and arguments", &shape{fields: []fieldRule{
			{name: "name", rule: aString, need: true}, {name: "arguments", rule: aString, need: true}}})},
		{name: "encryptedValue", rule: aString}, metadataField}})

	aMessage = tagged("an object with a role", "role",
		`"developer", "system", "assistant", "user", "tool", "activity" or "reasoning"`, map[string]*shape{
			"developer": spoken(fieldRule{name: "content", rule: aString, need: true}),
			"system":    spoken(fieldRule{name: "content", rule: aString, need: true}),
			"user":      spoken(fieldRule{name: "content", rule: textOrParts, need: true}),
			"assistant": spoken(fieldRule{name: "content", rule: aString},
				fieldRule{name: "toolCalls", rule: listOf("an array of tool calls", aToolCall)}),
			"tool": materialised(fieldRule{name: "content", rule: textOrParts, need: true},
				fieldRule{name: "toolCallId", rule: anID, need: true},
				fieldRule{name: "error", rule: aString}, fieldRule{name: "encryptedValue", rule: aString}),
			"activity": materialised(fieldRule{name: "activityType", rule: aString, need: true},
				fieldRule{name: "content", rule: anObject, need: true}),
			"reasoning": materialised(fieldRule{name: "content", rule: aString, need: true},
				fieldRule{name: "encryptedValue", rule: aString}),
		})

	messageList = listOf("an array of messages", aMessage)
)

// materialised is a message shape with the fields that all roles have.
func materialised(own ...fieldRule) *shape {
	return &shape{spell: messageKeys, fields: append([]fieldRule{
		{name: "id", rule: anID, need: true}, {name: "subagentRunId", rule: aString}, metadataField}, own...)}
}

// spoken is a message shape of a role that has a name.
func spoken(own ...fieldRule) *shape {
	return materialised(append([]fieldRule{{name: "name", rule: aString}, {name: "encryptedValue", rule: aString}}, own...)...)
}

// The request.
var (
	aTool = single("an object", &shape{fields: []fieldRule{
		{name: "name", rule: aString, need: true}, {name: "description", rule: aString, need: true},
		{name: "parameters", rule: notNull}, metadataField}})
	toolList = listOf("an array of tools", aTool)

	contextList = listOf("an array of {description, value}", single("an object with description and value", &shape{fields: []fieldRule{
		{name: "description", rule: aString, need: true}, {name: "value", rule: aString, need: true}}}))

	resumeList = listOf("an array of {interruptId, status, payload}", single("an object with interruptId and status", &shape{fields: []fieldRule{
		{name: "interruptId", rule: anID, need: true}, {name: "status", rule: oneOf("resolved", "cancelled"), need: true},
		{name: "payload", rule: notNull}, metadataField}}))

	// anInput is a request of ours; anEcho is one that an agent shows in
	// RUN_STARTED, where ids are whatever it was sent.
	anInput = single("a JSON object (RunAgentInput)", inputShape(aName, aNameOrEmpty))
	anEcho  = single("an object (RunAgentInput)", inputShape(aString, aString))
)

func inputShape(id, optionalID rule) *shape {
	return &shape{fields: []fieldRule{
		{name: "threadId", rule: id, need: true}, {name: "runId", rule: id, need: true},
		{name: "messages", rule: messageList, need: true},
		{name: "protocolVersion", rule: optionalID}, {name: "parentRunId", rule: optionalID},
		{name: "state", rule: anything, nullOK: true},
		{name: "tools", rule: toolList}, {name: "context", rule: contextList},
		{name: "forwardedProps", rule: notNull}, {name: "resume", rule: resumeList}}}
}
