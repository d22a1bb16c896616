package agui

import (
	"errors"

	"github.com/aguigate/aguigate/protocol/fault"
	"github.com/aguigate/aguigate/protocol/strictjson"
)

// CheckSnapshot refuses a MESSAGES_SNAPSHOT whose messages, tool calls or
// functions hold a key twice: two readers would read two conversations [SEC-1].
// What is malformed in another way is the reader's to judge.
func CheckSnapshot(f Frame) error {
	return eachObject(f.Field("messages"), func(m strictjson.Members) error {
		return eachObject(m.Get("toolCalls"), func(c strictjson.Members) error {
			_, err := once(c.Get("function"))
			return err
		})
	})
}

// eachObject visits the objects of an array, if it is one.
func eachObject(raw []byte, visit func(strictjson.Members) error) error {
	if strictjson.KindOf(raw) != strictjson.Array {
		return nil
	}
	for it := strictjson.Walk(raw); ; {
		_, value, _, ok := it.Next()
		if !ok {
			return nil
		}
		m, err := once(value)
		if err == nil {
			err = visit(m)
		}
		if err != nil {
			return err
		}
	}
}

// once gives an object's members, none for what is no object.
func once(raw []byte) (strictjson.Members, error) {
	m, err := strictjson.ObjectOf(raw)
	if errors.Is(err, strictjson.ErrDuplicate) {
		return nil, fault.New(fault.UpstreamProtocolError, "the agent's snapshot holds a %v", err)
	}
	return m, nil
}
