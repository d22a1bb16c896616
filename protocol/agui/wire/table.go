package wire

// kind is what a field is on the wire and in JSON.
type kind uint8

const (
	text      kind = iota // string; "" is not written and read as ""
	mayText               // optional string
	mayInt                // optional int64
	mayBool               // optional bool
	operation             // JsonPatchOperationType, a name in JSON
	anyValue              // google.protobuf.Value; null is a value like any other
	mayValue              // the same where null in JSON is the field left out
	mayStruct             // google.protobuf.Struct, an object in JSON
	one                   // a message
	list                  // repeated message; [] when there is none
	mayList               // repeated message; left out when there is none
	texts                 // repeated string; left out when there is none
)

// wireType is how a value of the kind is written (Protocol Buffers, Encoding).
func (k kind) wireType() byte {
	switch k {
	case mayInt, mayBool, operation:
		return varintType
	}
	return bytesType
}

func (k kind) repeated() bool { return k >= list }

// merges says whether a second occurrence adds to the first, as messages do,
// instead of replacing it.
func (k kind) merges() bool { return k >= anyValue && k <= one }

// field is one field of a message. Its number is its place in the message.
type field struct {
	name string
	kind kind
	of   *message
	need bool // JSON without it has no form on the wire: it would come back as something else

	// form marks a field that carries one form of another JSON member, and has no
	// member of its own; its name is where its content stands in JSON.
	form bool
}

// message is one message of the schema.
type message struct {
	fields []field

	// union: the fields are the arms of a oneof, and in JSON the arm's name is
	// the object's "type".
	union bool

	// spread names the member of JSON that is spread over several fields, none for
	// most messages; spread.go takes it apart and puts it together.
	spread spread
}

// most is the number of fields of the largest message.
const most = 13

// slots are the raw JSON values of an object by field.
type slots [most][]byte

// index finds a JSON member, -1 when the message has none of that name.
func (m *message) index(key []byte) int {
	for i := range m.fields {
		if f := &m.fields[i]; len(f.name) == len(key) && f.name == string(key) && !f.form {
			return i
		}
	}
	return -1
}

func str(name string) field             { return field{name: name, kind: text, need: true} }
func may(name string) field             { return field{name: name, kind: mayText} }
func count(name string) field           { return field{name: name, kind: mayInt} }
func free(name string) field            { return field{name: name, kind: mayValue} }
func object(name string) field          { return field{name: name, kind: mayStruct} }
func sub(name string, m *message) field { return field{name: name, kind: one, of: m} }
func need(f field) field                { f.need = true; return f }
func form(f field) field                { f.form = true; return f }

func many(k kind, name string, m *message) field { return field{name: name, kind: k, of: m} }

func plain(fields ...field) *message { return &message{fields: fields} }
func arms(fields ...field) *message  { return &message{fields: fields, union: true} }

// The messages inside events.
var (
	// baseEvent is field 1 of every event; in JSON its fields are the event's own.
	// Its type repeats the arm of the envelope as a number.
	baseEvent = plain(form(field{name: "type", kind: operation}), count("timestamp"), free("rawEvent"), object("metadata"))

	patchOperation = plain(field{name: "op", kind: operation, need: true}, str("path"), may("from"),
		field{name: "value", kind: anyValue})

	usage = plain(may("provider"), may("model"), count("inputTokens"), count("outputTokens"), count("totalTokens"),
		count("reasoningTokens"), count("cachedInputTokens"), count("cacheWriteInputTokens"))

	interrupt = plain(str("id"), str("reason"), may("message"), may("toolCallId"), free("responseSchema"),
		may("expiresAt"), free("metadata"), may("subagentRunId"))

	source = arms(
		sub("data", plain(str("value"), str("mimeType"))),
		sub("url", plain(str("value"), may("mimeType"))),
		sub("file", plain(str("value"), may("provider"), may("mimeType"))))

	media = plain(need(sub("source", source)), free("metadata"), may("id"))

	part = arms(sub("text", plain(str("text"), may("id"), free("metadata"))),
		sub("image", media), sub("audio", media), sub("video", media), sub("document", media))

	toolCall = plain(str("id"), str("type"), need(sub("function", plain(str("name"), str("arguments")))),
		object("metadata"), may("encryptedValue"))

	chatMessage = &message{
		fields: []field{str("id"), str("role"), may("content"), may("name"), many(mayList, "toolCalls", toolCall),
			may("toolCallId"), may("error"), form(many(list, "content", part)), object("metadata"),
			may("subagentRunId"), may("encryptedValue"), may("activityType"), form(object("content"))},
		spread: contentOfMessage,
	}

	tool = plain(str("name"), str("description"), free("parameters"), object("metadata"))

	runInput = plain(str("threadId"), str("runId"), may("parentRunId"), free("state"),
		need(many(list, "messages", chatMessage)), many(list, "tools", tool),
		many(list, "context", plain(str("description"), str("value"))), free("forwardedProps"),
		many(list, "resume", plain(str("interruptId"), str("status"), free("payload"), object("metadata"))),
		may("protocolVersion"))
)

// Places of the fields that spread.go knows.
const (
	messageRole, messageContent, messageParts, messageActivity = 1, 2, 7, 12
	resultContent, resultParts                                 = 4, 6
	runOutcome, runInterrupts, runPending                      = 4, 5, 7
	subagentOutcome, subagentInterrupts                        = 3, 4
)

// operations are the names of JsonPatchOperationType.
var operations = [...]string{"add", "remove", "replace", "move", "copy", "test"}
