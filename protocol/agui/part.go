package agui

import (
	"strings"

	"github.com/aguigate/aguigate/protocol/fault"
	"github.com/aguigate/aguigate/protocol/strictjson"
)

// PartKind is the type of a content part.
type PartKind string

// The parts of 1.0, and the media part of 0.0.x.
const (
	PartText     PartKind = "text"
	PartImage    PartKind = "image"
	PartAudio    PartKind = "audio"
	PartVideo    PartKind = "video"
	PartDocument PartKind = "document"
	PartBinary   PartKind = "binary"
)

// Part is one piece of a message body or of a tool's result.
type Part struct {
	Kind     PartKind
	ID       string
	Text     string // text
	Source   Source // media and binary
	Filename string // binary
	Metadata []byte // raw, nil if absent
	Raw      []byte // as it came
}

// SourceKind says where the bytes of a medium are.
type SourceKind string

// The sources of 1.0.
const (
	SourceData SourceKind = "data" // inline, base64
	SourceURL  SourceKind = "url"
	SourceFile SourceKind = "file" // at the provider, by its handle
)

// Source is where the bytes of a medium are. Nothing here opens it [SEC-4].
type Source struct {
	Kind     SourceKind
	Value    string
	MIMEType string
	Provider string // file
}

// DecodeParts reads a message's content: an array of parts, or a string, which
// is one text part. It is as strict as DecodeMessages and takes binary parts of
// 0.0.x; such a part's bytes are its data, else its url, else its id. at is the
// JSON Pointer of content.
func DecodeParts(content []byte, at string) ([]Part, error) {
	if err := strictjson.Check(content); err != nil {
		return nil, fault.New(fault.InvalidRequest, "the content is refused: %v", err).At(at)
	}
	content = trim(content)
	c := checker{nullAbsent: true}
	if err := c.check(&textOrParts, content); err != nil {
		err.at = at + err.at
		return nil, fault.New(fault.InvalidRequest, "the content is refused: %v", err).At(err.at)
	}
	if isString(content) {
		t := text(content)
		return []Part{{Kind: PartText, Text: t, Raw: object(nil).text("type", "text").text("text", t).done()}}, nil
	}
	parts := []Part{}
	for cur := walk(content); ; {
		m, ok := cur.next()
		if !ok {
			return parts, nil
		}
		parts = append(parts, partOf(cur.value(m), c.nulls))
	}
}

func partOf(raw []byte, nulls bool) Part {
	if nulls {
		raw = withoutNulls(&aPart, raw)
	}
	get := func(key string) string { return text(field(raw, key)) }
	p := Part{Kind: PartKind(get("type")), ID: get("id"), Text: get("text"), Metadata: field(raw, "metadata"), Raw: raw}
	if p.Kind == PartBinary {
		p.Filename = get("filename")
		p.Source.MIMEType = get("mimeType")
		switch data, url := get("data"), get("url"); {
		case data != "":
			p.Source.Kind, p.Source.Value = SourceData, data
		case url != "":
			p.Source.Kind, p.Source.Value = SourceURL, url
		default:
			p.Source.Kind, p.Source.Value = SourceFile, p.ID
		}
		return p
	}
	if s := field(raw, "source"); s != nil {
		p.Source = Source{Kind: SourceKind(text(field(s, "type"))), Value: text(field(s, "value")),
			MIMEType: text(field(s, "mimeType")), Provider: text(field(s, "provider"))}
	}
	return p
}

// TextOf gives the text of a message's content: the string itself, or its text
// parts joined by LF, as the 1.0 client joins those of a result for old agents.
// Media add nothing.
func TextOf(content []byte) string {
	content = trim(content)
	if isString(content) {
		return text(content)
	}
	var out []string
	for cur := walk(content); cur.end == ']'; {
		m, ok := cur.next()
		if !ok {
			break
		}
		if p := cur.value(m); text(field(p, "type")) == string(PartText) {
			out = append(out, text(field(p, "text")))
		}
	}
	return strings.Join(out, "\n")
}

// HasMedia reports whether content has a part that is not text, so that TextOf
// would lose something.
func HasMedia(content []byte) bool {
	for cur := walk(content); cur.end == ']'; {
		m, ok := cur.next()
		if !ok {
			break
		}
		if text(field(cur.value(m), "type")) != string(PartText) {
			return true
		}
	}
	return false
}

// Append writes the part: Raw where it is set, else from the other fields in
// their 1.0 form.
func (p Part) Append(dst []byte) []byte {
	if p.Raw != nil {
		return append(dst, p.Raw...)
	}
	b := object(dst).text("type", string(p.Kind)).some("id", p.ID)
	if p.Kind == PartText {
		return b.text("text", p.Text).json("metadata", p.Metadata).done()
	}
	b.key("source")
	b.raw = object(b.raw).text("type", string(p.Source.Kind)).text("value", p.Source.Value).
		some("mimeType", p.Source.MIMEType).some("provider", p.Source.Provider).done()
	return b.json("metadata", p.Metadata).done()
}
