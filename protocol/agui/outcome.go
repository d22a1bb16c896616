package agui

import (
	"github.com/aguigate/aguigate/protocol/fault"
	"github.com/aguigate/aguigate/protocol/strictjson"
)

// OutcomeKind says why a run ended without failing.
type OutcomeKind string

// The outcomes of 1.0. 0.0.59 knows success and interrupt, without a list of
// pending calls.
const (
	OutcomeSuccess   OutcomeKind = "success"
	OutcomeInterrupt OutcomeKind = "interrupt"
	OutcomeCancelled OutcomeKind = "cancelled"
)

// Outcome is RUN_FINISHED.outcome.
type Outcome struct {
	Kind               OutcomeKind
	PendingToolCallIDs []string    // success only: calls left for the client [RUN-4]; empty is left out
	Interrupts         []Interrupt // interrupt only: at least one
}

// Interrupt is something a run needs from outside before it can go on.
type Interrupt struct {
	ID, Reason, Message, ToolCallID string
	ResponseSchema, Metadata        []byte // raw JSON objects or nil
	ExpiresAt, SubagentRunID        string
	Raw                             []byte // as it came; Append writes this when it is set
}

// Append writes the outcome as JSON.
func (o *Outcome) Append(dst []byte) []byte {
	b := object(dst).text("type", string(o.Kind))
	switch o.Kind {
	case OutcomeSuccess:
		if len(o.PendingToolCallIDs) == 0 {
			break
		}
		b.key("pendingToolCallIds")
		b.raw = append(b.raw, '[')
		for i, id := range o.PendingToolCallIDs {
			b.raw = strictjson.AppendString(comma(b.raw, i), id)
		}
		b.raw = append(b.raw, ']')
	case OutcomeInterrupt:
		b.key("interrupts")
		b.raw = append(b.raw, '[')
		for i := range o.Interrupts {
			b.raw = o.Interrupts[i].append(comma(b.raw, i))
		}
		b.raw = append(b.raw, ']')
	}
	return b.done()
}

func (i *Interrupt) append(dst []byte) []byte {
	if i.Raw != nil {
		return append(dst, i.Raw...)
	}
	return object(dst).text("id", i.ID).text("reason", i.Reason).some("message", i.Message).
		some("toolCallId", i.ToolCallID).json("responseSchema", i.ResponseSchema).some("expiresAt", i.ExpiresAt).
		some("subagentRunId", i.SubagentRunID).json("metadata", i.Metadata).done()
}

func comma(dst []byte, i int) []byte {
	if i > 0 {
		return append(dst, ',')
	}
	return dst
}

// ParseOutcome reads RUN_FINISHED.outcome; nil or null is no outcome, nil. What
// 1.0 clients do with an outcome of another type is drop it, so that is nil too.
// Anything malformed is a *fault.Error with code upstream_protocol_error.
func ParseOutcome(raw []byte) (*Outcome, error) {
	raw = trim(raw)
	if len(raw) == 0 || isNull(raw) {
		return nil, nil
	}
	if err := strictjson.Check(raw); err != nil {
		return nil, fault.New(fault.UpstreamProtocolError, "the outcome of a run is refused: %v", err)
	}
	c := checker{lenient: true}
	if err := c.check(&anOutcome, raw); err != nil {
		return nil, fault.New(fault.UpstreamProtocolError, "the outcome of a run is malformed: %v", err).At("/outcome" + err.at)
	}
	o := &Outcome{Kind: OutcomeKind(text(field(raw, "type")))}
	switch o.Kind {
	case OutcomeSuccess:
		for cur := walk(field(raw, "pendingToolCallIds")); ; {
			m, ok := cur.next()
			if !ok {
				return o, nil
			}
			o.PendingToolCallIDs = append(o.PendingToolCallIDs, text(cur.value(m)))
		}
	case OutcomeInterrupt:
		for cur := walk(field(raw, "interrupts")); ; {
			m, ok := cur.next()
			if !ok {
				return o, nil
			}
			o.Interrupts = append(o.Interrupts, interruptOf(cur.value(m)))
		}
	case OutcomeCancelled:
		return o, nil
	}
	return nil, nil
}

func interruptOf(raw []byte) Interrupt {
	t := func(key string) string { return text(field(raw, key)) }
	return Interrupt{ID: t("id"), Reason: t("reason"), Message: t("message"), ToolCallID: t("toolCallId"),
		ResponseSchema: field(raw, "responseSchema"), Metadata: field(raw, "metadata"),
		ExpiresAt: t("expiresAt"), SubagentRunID: t("subagentRunId"), Raw: raw}
}
