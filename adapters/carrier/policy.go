package carrier

import (
	"errors"
	"net"
	"net/netip"
	"strings"
)

// Policy says by which names we may be called and which pages may call us
// [SEC-3] [CORS-1].
type Policy struct {
	Hosts []string // names, with or without port, accepted beside loopback
	// LoopbackOnly: the Host must be a loopback name or one of Hosts. It is meant for
	// authentication "none": a page that rebinds its own name to 127.0.0.1 still
	// sends its own name.
	LoopbackOnly bool
	Origins      []string // "https://app.example"; "*" for all, then without Credentials
	Credentials  bool     // cookies and client certificates; tokens in headers do not need it
}

type policy struct {
	hosts       map[string]bool
	loopback    bool
	origins     map[string]bool
	anyOrigin   bool
	credentials bool
}

func newPolicy(p Policy) (*policy, error) {
	q := &policy{hosts: map[string]bool{}, loopback: p.LoopbackOnly, origins: map[string]bool{}, credentials: p.Credentials}
	for _, h := range p.Hosts {
		q.hosts[strings.ToLower(h)] = true
	}
	for _, o := range p.Origins {
		if o == "*" {
			q.anyOrigin = true
		}
		q.origins[canonicalOrigin(o)] = true
	}
	if q.anyOrigin && q.credentials {
		return nil, errors.New("carrier: origin * cannot be combined with credentials")
	}
	return q, nil
}

// hostOK judges the Host field.
func (p *policy) hostOK(host string) bool {
	if !p.loopback {
		return true
	}
	host = strings.ToLower(host)
	name, _ := splitHost(host)
	return isLoopback(name) || p.hosts[host] || p.hosts[name]
}

type verdict int

const (
	originNone    verdict = iota // no Origin: no page sent this
	originOwn                    // a page of this very host: needs no permission
	originListed                 // a foreign page that may call
	originRefused                // a foreign page that may not
)

// origin judges an Origin field against the Host it was sent to. The scheme is
// not compared: behind a proxy that ends TLS we do not know our own. So a page of
// the same host is let in but gets no CORS permission, which it needs only
// across schemes.
func (p *policy) origin(origin, host string) verdict {
	if origin == "" {
		return originNone
	}
	canon := canonicalOrigin(origin)
	if p.anyOrigin || p.origins[canon] {
		return originListed
	}
	scheme, rest, ok := strings.Cut(canon, "://")
	if !ok {
		return originRefused // "null": sandboxed frames, files
	}
	name, port := splitHost(strings.ToLower(host))
	if rest == joinHost(name, port, scheme) {
		return originOwn
	}
	return originRefused
}

// canonicalOrigin is lower case and without a default port (RFC 6454 §6.2).
func canonicalOrigin(o string) string {
	o = strings.ToLower(o)
	scheme, rest, ok := strings.Cut(o, "://")
	if !ok {
		return o
	}
	name, port := splitHost(rest)
	return scheme + "://" + joinHost(name, port, scheme)
}

func joinHost(name, port, scheme string) string {
	if strings.Contains(name, ":") {
		name = "[" + name + "]"
	}
	if port == "" || scheme == "http" && port == "80" || scheme == "https" && port == "443" {
		return name
	}
	return name + ":" + port
}

// splitHost cuts the port off; the brackets of an IPv6 address go too.
func splitHost(host string) (name, port string) {
	if name, port, err := net.SplitHostPort(host); err == nil {
		return name, port
	}
	return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"), ""
}

// isLoopback takes localhost, names under .localhost (RFC 6761 §6.3) and loopback
// addresses.
func isLoopback(name string) bool {
	name = strings.TrimSuffix(name, ".")
	if name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return true
	}
	ip, err := netip.ParseAddr(name)
	return err == nil && ip.Unmap().IsLoopback()
}
