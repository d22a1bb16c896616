package profile

import (
	"bytes"
	"strings"

	"github.com/aguigate/aguigate/protocol/agui"
	"github.com/aguigate/aguigate/protocol/strictjson"
	"github.com/aguigate/aguigate/protocol/tool"
)

var binaryWord = []byte(`"binary"`)

// parts writes a list of content parts, and tells whether anything changed.
func (p *Profile) parts(raw []byte) (out []byte, changed bool) {
	list, err := strictjson.ArrayOf(raw)
	if err != nil {
		return raw, false
	}
	var kept [][]byte
	for _, one := range list {
		next, did := p.part(one, list)
		changed = changed || did
		if next != nil {
			kept = append(kept, next)
		}
	}
	if !changed {
		return raw, false
	}
	return join(kept), true
}

// part writes one part of list. What the profile has no form for becomes a text
// part with a reference, so that nothing is lost unseen [F083]. nil is a part that
// another one of the list says already.
func (p *Profile) part(raw []byte, list [][]byte) (out []byte, changed bool) {
	one := readPart(raw)
	switch one.kind {
	case agui.PartText:
		if p.modern {
			return raw, false
		}
		return cut(raw, "id", "metadata")
	case agui.PartImage, agui.PartAudio, agui.PartVideo, agui.PartDocument:
		switch {
		case p.modern:
			return raw, false
		case p.media && one.source != agui.SourceFile:
			return cut(raw, "id")
		}
		if old := one.asBinary(); old != nil {
			return old, true
		}
		return reference(raw), true
	case agui.PartBinary:
		if !p.modern {
			return raw, false
		}
		return one.asMedia(raw, list)
	}
	if p.modern {
		return raw, false // a 1.0 reader skips it
	}
	return reference(raw), true
}

// reference is a text part with what a model can read of raw [INV-7].
func reference(raw []byte) []byte {
	text := tool.PartsText(join([][]byte{raw}))
	return append(strictjson.AppendString([]byte(`{"type":"text","text":`), text), '}')
}

func cut(raw []byte, keys ...string) (out []byte, changed bool) {
	f := agui.Frame{Raw: raw}
	for _, key := range keys {
		f = f.Without(key)
	}
	return f.Raw, len(f.Raw) != len(raw)
}

// part is a medium in either form. Texts are raw JSON strings, nil when absent.
type part struct {
	kind                            agui.PartKind
	source                          agui.SourceKind
	value, mime, provider, filename []byte
}

func readPart(raw []byte) part {
	f := agui.Frame{Raw: raw}
	p := part{kind: agui.PartKind(f.Text("type")), mime: textField(f, "mimeType")}
	if p.kind != agui.PartBinary {
		src := agui.Frame{Raw: f.Field("source")}
		p.source, p.value = agui.SourceKind(src.Text("type")), textField(src, "value")
		p.mime, p.provider = textField(src, "mimeType"), textField(src, "provider")
		p.filename = textField(agui.Frame{Raw: f.Field("metadata")}, "filename")
		return p
	}
	p.filename = textField(f, "filename")
	for _, from := range []struct {
		key    string
		source agui.SourceKind
	}{{"data", agui.SourceData}, {"url", agui.SourceURL}, {"id", agui.SourceFile}} {
		if v := textField(f, from.key); v != nil {
			p.source, p.value = from.source, v
			break
		}
	}
	return p
}

// textField is a field that is a string with something in it, else nil.
func textField(f agui.Frame, key string) []byte {
	if v := f.Field(key); strictjson.KindOf(v) == strictjson.Str && !emptyText(v) {
		return v
	}
	return nil
}

// binaryKeys is where the media part of 0.0.x has what a source has.
var binaryKeys = map[agui.SourceKind]string{agui.SourceData: "data", agui.SourceURL: "url", agui.SourceFile: "id"}

// asBinary writes a medium as 0.0.45 has it, nil when that cannot be: a handle of
// a named provider would be one of nobody.
func (p part) asBinary() []byte {
	key := binaryKeys[p.source]
	if key == "" || p.value == nil || p.provider != nil {
		return nil
	}
	mime := p.mime
	if mime == nil { // needed there; the readers look at its beginning
		mime = []byte(`"` + string(p.kind) + `/*"`)
		if p.kind == agui.PartDocument {
			mime = []byte(`"application/octet-stream"`)
		}
	}
	out := append([]byte(`{"type":"binary","mimeType":`), mime...)
	out = append(append(append(append(out, `,"`...), key...), `":`...), p.value...)
	if p.filename != nil {
		out = append(append(out, `,"filename":`...), p.filename...)
	}
	return append(out, '}')
}

// asMedia writes a binary part of 0.0.x as 1.0 has it, as the 1.0 client does,
// and its id, which that client loses, as a file. nil when list holds the same
// medium in the new form already.
func (p part) asMedia(raw []byte, list [][]byte) ([]byte, bool) {
	if p.value == nil {
		return raw, false
	}
	mime, _ := strictjson.StringOf(p.mime)
	p.kind = agui.PartDocument
	for _, kind := range []agui.PartKind{agui.PartImage, agui.PartAudio, agui.PartVideo} {
		if strings.HasPrefix(mime, string(kind)+"/") {
			p.kind = kind
		}
	}
	for _, other := range list {
		if o := readPart(other); o.kind == p.kind && o.source == p.source && bytes.Equal(o.value, p.value) &&
			bytes.Equal(o.mime, p.mime) && (p.filename == nil || bytes.Equal(o.filename, p.filename)) {
			return nil, true
		}
	}
	out := []byte(`{"type":"` + string(p.kind) + `","source":{"type":"` + string(p.source) + `","value":`)
	out = append(out, p.value...)
	if p.mime != nil {
		out = append(append(out, `,"mimeType":`...), p.mime...)
	}
	out = append(out, '}')
	if p.filename != nil {
		out = append(append(append(out, `,"metadata":{"filename":`...), p.filename...), '}')
	}
	return append(out, '}'), true
}
