package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/aguigate/aguigate/protocol/strictjson"
)

// resolveTime bounds one answer from the dial to the end of what comes back.
const resolveTime = time.Minute

// resolveCommand answers one invocation at a running gateway and prints it.
func resolveCommand(args []string, out io.Writer) error {
	f := newFlags("resolve")
	to := f.client()
	var a answerFlags
	f.StringVar(&a.result, "result", "", "JSON")
	f.StringVar(&a.message, "error", "", "text")
	f.StringVar(&a.class, "type", "", "class of the error")
	f.BoolVar(&a.retryable, "retryable", false, "another attempt may go well")
	f.StringVar(&a.attempt, "attempt", "", "the attempt answered")
	f.BoolVar(&a.leave, "no-continue", false, "the client goes on")
	id, err := f.parseOne(args, "INV")
	if err != nil {
		return err
	}
	body, err := a.body(f.given())
	if err != nil {
		return err
	}
	c, err := to.open()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), resolveTime)
	defer cancel()
	inv, err := c.resolve(ctx, id, body)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s\n", oneLine(inv))
	return err
}

type answerFlags struct {
	result, message, class, attempt string
	retryable, leave                bool
}

// body writes the flags as the Gateway API takes them (contract §6).
func (a *answerFlags) body(given map[string]bool) ([]byte, error) {
	var b []byte
	switch {
	case given["result"] == given["error"]:
		return nil, fmt.Errorf("%w: resolve needs --result JSON or --error TEXT", errUsage)
	case given["result"]:
		if given["type"] || given["retryable"] {
			return nil, fmt.Errorf("%w: --type and --retryable belong to --error", errUsage)
		}
		if err := strictjson.Check([]byte(a.result)); err != nil {
			return nil, fmt.Errorf(`%w: --result is JSON, a text is written "\"so\"": %v`, errUsage, err)
		}
		b = append([]byte(`{"result":`), a.result...)
	case a.message == "":
		return nil, fmt.Errorf("%w: --error is the sentence the model reads", errUsage)
	default:
		b = strictjson.AppendString([]byte(`{"error":{"message":`), a.message)
		if a.class != "" {
			b = strictjson.AppendString(append(b, `,"type":`...), a.class)
		}
		if a.retryable {
			b = append(b, `,"retryable":true`...)
		}
		b = append(b, '}')
	}
	if given["attempt"] {
		n, err := strconv.ParseUint(a.attempt, 10, 31)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%w: --attempt is a whole number from 1", errUsage)
		}
		b = strconv.AppendUint(append(b, `,"attempt":`...), n, 10)
	}
	if a.leave {
		b = append(b, `,"continue":false`...)
	}
	return append(b, '}'), nil
}

// errUnknown is added where the answer may have been accepted. Saying it again is
// safe: an equal one is accepted again [INV-3].
var errUnknown = errors.New("it is not known whether the answer was accepted; the same command may be run again")

// resolve sends an answer and gives the invocation as it is now.
func (c *client) resolve(ctx context.Context, id string, body []byte) ([]byte, error) {
	res, err := c.do(ctx, http.MethodPost, "/v1/invocations/"+url.PathEscape(id)+"/resolve", map[string]string{"Content-Type": "application/json"}, bytes.NewReader(body))
	var lost *unreached
	switch {
	case errors.As(err, &lost) && lost.sent():
		return nil, fmt.Errorf("%w\n%w", err, errUnknown)
	case err != nil:
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, refused(res)
	}
	answer, err := io.ReadAll(io.LimitReader(res.Body, answerLimit+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w\n%w", &unreached{what: "the answer was cut", cause: err}, errUnknown)
	case len(answer) > answerLimit:
		return nil, fmt.Errorf("%s answered with more than %d bytes\n%w", c.base, answerLimit, errUnknown)
	}
	m, err := strictjson.ParseObject(answer)
	if err != nil || strictjson.KindOf(m.Get("invocation")) != strictjson.Object {
		return nil, fmt.Errorf("%s does not answer as an aguigate gateway\n%w", c.base, errUnknown)
	}
	return m.Get("invocation"), nil
}
