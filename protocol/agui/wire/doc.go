// Package wire is AG-UI's protobuf form: media type MediaType, each event four
// bytes of length, big-endian, and then that many bytes of an ag_ui.Event
// message [RUN-1, UP-1].
//
// Inside the gateway an event is JSON. Append writes the message that JSON
// stands for, Decoder gives the JSON that the published 1.0.0 reader would make
// of a message. Both are a walk along one table (table.go) of the fields that
// the packages @ag-ui/proto 1.0.0 and 0.0.59 read and write; testdata holds
// bytes of theirs for every type.
//
// # What 0.0.59 shares
//
// Its messages are those of 1.0.0 with fields and types missing; nothing has
// moved. So one writer and one reader serve both. Its envelope ends at
// SUBAGENT_ERROR: no TOOL_CALL_RESULT, ACTIVITY and REASONING events. In place
// of one it cannot say it writes a message of no bytes, which the Decoder
// leaves out and counts, and its client ends the stream at the first message of
// a type it does not know. For the two CHUNK events it has a place in the
// envelope but no name, and fails both ways.
//
// # What protobuf cannot say
//
//   - Numbers in free JSON (state, patches, metadata, results, raw and custom
//     values) are float64: integers beyond 2^53 and long decimals are rounded,
//     what is beyond 1.8e308 becomes infinite, and is read back as null.
//   - Members the protocol does not name are left out; so are those of an
//     outcome of a type it does not name.
//   - null of an optional field is the field left out. A missing list is an
//     empty one; an empty toolCalls, usage or pendingToolCallIds is a missing
//     one.
//   - A key "__proto__" in free JSON is written and read here, the packages lose it.
//   - Half a surrogate pair becomes U+FFFD.
//   - A content part, or the source of one, of a type the protocol does not know
//     drops the part, as it does in a 1.0 client. Parts of type "binary" become
//     documents whose metadata says so. A patch operation of an unknown name
//     goes as the number -1, its name is lost.
package wire

// MediaType is the Content-Type of a protobuf stream. @ag-ui/client compares it
// as a whole, so nothing may follow it.
const MediaType = "application/vnd.ag-ui.event+proto"

// MaxEvent is the longest event in bytes, its length prefix included, that
// @ag-ui/client 1.0.0 reads; one byte more ends its stream.
const MaxEvent = 10 << 20

const prefixSize = 4
