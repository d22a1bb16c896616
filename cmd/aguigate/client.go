package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/aguigate/aguigate/gateway"
	"github.com/aguigate/aguigate/protocol/strictjson"
)

const (
	gatewayEnv     = "AGUIGATE_URL"
	keyEnv         = "AGUIGATE_KEY"
	defaultGateway = "http://127.0.0.1:8080"

	dialTime   = 10 * time.Second
	headTime   = 30 * time.Second // a request's end to the head of its answer
	errorLimit = 1 << 20          // bytes of a refusal; the accepted answer may be in it
	longAfter  = 5 * time.Minute  // the most of a Retry-After that is waited
	// answerLimit bounds an answer or an event: far above the default limits of a
	// gateway, which may be raised.
	answerLimit = 64 << 20
)

// client is a running gateway as a command speaks to it.
type client struct {
	base     string // without a slash at the end
	key      string // never printed [SEC-5]
	identity string
	http     *http.Client
}

// clientFlags are the flags of every command that is a client.
type clientFlags struct{ gateway, key, identity *string }

func (f *flags) client() clientFlags {
	base := os.Getenv(gatewayEnv)
	if base == "" {
		base = defaultGateway
	}
	return clientFlags{
		gateway:  f.String("gateway", base, "URL of the gateway"),
		key:      f.String("key", os.Getenv(keyEnv), "secret"),
		identity: f.String("identity", "", "subject to act for"),
	}
}

// open checks the flags. No error quotes them: a URL or a misplaced argument may
// hold a secret.
func (c clientFlags) open() (*client, error) {
	u, err := url.Parse(*c.gateway)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("%w: --gateway is a URL such as %s; a secret goes into --key", errUsage, defaultGateway)
	}
	key := strings.TrimSpace(*c.key) // files and variables often end with a line end
	if !headerValue(key) {
		return nil, fmt.Errorf("%w: --key holds what no header can", errUsage)
	}
	if !headerValue(*c.identity) {
		return nil, fmt.Errorf("%w: --identity holds what no header can", errUsage)
	}
	return &client{base: strings.TrimRight(u.String(), "/"), key: key, identity: *c.identity, http: newHTTP()}, nil
}

func headerValue(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
}

func newHTTP() *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			Proxy:                 proxyOf,
			DialContext:           (&net.Dialer{Timeout: dialTime}).DialContext,
			TLSHandshakeTimeout:   dialTime,
			ResponseHeaderTimeout: headTime,
			DisableCompression:    true, // a compressed stream would arrive in lumps
			DisableKeepAlives:     true, // one request is all a connection is for
			ForceAttemptHTTP2:     true,
		},
		// A redirect would take the key elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// proxyOf is the environment's proxy, but never for this machine itself.
func proxyOf(r *http.Request) (*url.URL, error) {
	name := strings.TrimSuffix(strings.ToLower(r.URL.Hostname()), ".")
	if ip, err := netip.ParseAddr(name); err == nil && ip.Unmap().IsLoopback() || name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return nil, nil
	}
	return http.ProxyFromEnvironment(r)
}

// do sends one request; the caller closes the answer's body. What is no answer is
// an *unreached.
func (c *client) do(ctx context.Context, method, path string, header map[string]string, body io.Reader) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return nil, fmt.Errorf("%w: --gateway is no URL a request can go to", errUsage)
	}
	req.Header.Set("User-Agent", "aguigate/"+version)
	if c.key != "" {
		req.Header.Set("Authorization", "Bearer "+c.key)
	}
	if c.identity != "" {
		req.Header.Set(gateway.IdentityHeader, c.identity)
	}
	for name, value := range header {
		req.Header.Set(name, value)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, &unreached{what: "no answer from " + c.base, cause: err}
	}
	return res, nil
}

// unreached says that no answer came, or not all of it.
type unreached struct {
	what  string
	cause error
}

func (u *unreached) Unwrap() error { return u.cause }

func (u *unreached) Error() string {
	cause := u.cause
	var of *url.Error
	if errors.As(cause, &of) {
		cause = of.Err
	}
	return u.what + ": " + printable(cause.Error())
}

// sent reports whether the request may have reached the gateway.
func (u *unreached) sent() bool {
	var op *net.OpError
	return !errors.As(u.cause, &op) || op.Op != "dial"
}

// refusal is an answer that refuses.
type refusal struct {
	status        int
	code, message string
	accepted      []byte        // with a conflict: the answer that was accepted before [INV-3]
	after         time.Duration // Retry-After
}

func (r *refusal) Error() string {
	s := r.code + ": " + r.message
	if r.accepted != nil {
		s += "\naccepted: " + printable(string(oneLine(r.accepted)))
	}
	return s
}

// temporary reports whether the same request may be answered later.
func (r *refusal) temporary() bool { return r.status >= 500 || r.status == http.StatusTooManyRequests }

// refused reads an answer that is no success. What stands between us and the
// gateway may have written it, so nothing in it is taken for granted.
func refused(res *http.Response) error {
	r := &refusal{status: res.StatusCode}
	if n, err := strconv.ParseUint(res.Header.Get("Retry-After"), 10, 16); err == nil {
		r.after = min(time.Duration(n)*time.Second, longAfter)
	}
	body, _ := io.ReadAll(io.LimitReader(res.Body, errorLimit+1)) // what did come may be enough
	if !r.read(body) {
		r.code = "http_" + strconv.Itoa(res.StatusCode)
		r.message = strings.TrimSpace(http.StatusText(res.StatusCode) + " from what does not answer as an aguigate gateway")
	}
	return r
}

func (r *refusal) read(body []byte) bool {
	if len(body) > errorLimit {
		return false
	}
	m, err := strictjson.ParseObject(body)
	if err != nil {
		return false
	}
	if m, err = strictjson.ObjectOf(m.Get("error")); err != nil {
		return false
	}
	code, err := strictjson.StringOf(m.Get("code"))
	if err != nil || code == "" {
		return false
	}
	message, err := strictjson.StringOf(m.Get("message"))
	if err != nil {
		return false
	}
	r.code, r.message, r.accepted = printable(code), printable(message), m.Get("accepted")
	return true
}

// parseOne parses a command with exactly one argument; flags may stand before and
// behind it. what names the argument.
func (f *flags) parseOne(args []string, what string) (string, error) {
	var got []string
	for {
		switch err := f.Parse(args); {
		case errors.Is(err, flag.ErrHelp):
			return "", err
		case err != nil:
			return "", fmt.Errorf("%w: %s: %s", errUsage, f.Name(), err)
		}
		if f.NArg() == 0 {
			break
		}
		got, args = append(got, f.Arg(0)), f.Args()[1:]
	}
	if len(got) != 1 || got[0] == "" {
		return "", fmt.Errorf("%w: %s takes one %s", errUsage, f.Name(), what)
	}
	return got[0], nil
}

// given tells which flags the command line has.
func (f *flags) given() map[string]bool {
	set := map[string]bool{}
	f.Visit(func(one *flag.Flag) { set[one.Name] = true })
	return set
}

// oneLine takes the line ends out of JSON: they stand between tokens only.
func oneLine(raw []byte) []byte {
	return []byte(strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ").Replace(string(raw)))
}

// printable replaces what could steer a terminal or turn a line's text around;
// line ends and tabs become blanks.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\r' || r == '\t':
			return ' '
		case r < ' ' || r >= 0x7f && r < 0xa0, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
			return '\uFFFD'
		}
		return r
	}, s)
}
