package api

import (
	"slices"
	"strconv"

	"github.com/aguigate/aguigate/adapters/carrier"
	"github.com/aguigate/aguigate/adapters/frontend"
	"github.com/aguigate/aguigate/protocol/fault"
	"github.com/aguigate/aguigate/protocol/strictjson"
	"github.com/aguigate/aguigate/protocol/tool"
)

// maxPage is the most entries one answer lists.
const maxPage = 200

// thread is the thread a path names, with the agent of its query.
func thread(r *carrier.Request) frontend.ThreadRef {
	return frontend.ThreadRef{Thread: r.Param("thread"), Agent: r.Query("agent")}
}

// page is the part of a list that is asked for.
func page(r *carrier.Request) (frontend.Page, error) {
	p := frontend.Page{Cursor: frontend.Cursor(r.Query("cursor"))}
	text := r.Query("limit")
	if text == "" {
		return p, nil
	}
	n, err := strconv.ParseUint(text, 10, 16) // signs are none of a count's
	if err != nil || n < 1 || n > maxPage {
		return p, fault.New(fault.InvalidRequest, "limit is a whole number from 1 to %d", maxPage).At("limit")
	}
	p.Limit = int(n)
	return p, nil
}

var states = []tool.State{"", tool.Open, tool.Settled, tool.Cancelled, tool.Expired}

// state is the state asked for, "" for all.
func state(r *carrier.Request) (tool.State, error) {
	s := tool.State(r.Query("state"))
	if !slices.Contains(states, s) {
		return "", fault.New(fault.InvalidRequest, "state is one of open, settled, cancelled, expired").At("state")
	}
	return s, nil
}

// appendNext ends a list with the cursor of what comes after it, null at its end.
func appendNext(b []byte, next frontend.Cursor) []byte {
	b = append(b, `,"next_cursor":`...)
	return append(orNull(b, string(next)), '}')
}

// orNull writes a string, null for "".
func orNull(b []byte, s string) []byte {
	if s == "" {
		return append(b, "null"...)
	}
	return strictjson.AppendString(b, s)
}
