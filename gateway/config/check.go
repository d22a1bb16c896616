package config

import (
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

var (
	agentName   = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)
	storePrefix = regexp.MustCompile(`^[A-Za-z0-9_-]{1,32}$`)
	originText  = regexp.MustCompile(`^[a-z][a-z0-9+.-]*://[^/?#@\s,]+$`)
)

// minSecret is the shortest secret of a key: 16 random characters cannot be
// guessed over a network.
const minSecret = 16

// wrong adds a fault about values that fit their fields and not each other, at
// the path or the nearest enclosing key the file has. It says nothing where the
// path, or what encloses it, is already at fault.
func (d *decoder) wrong(path, format string, args ...any) {
	var at position
	for p := path; ; p = parent(p) {
		if d.bad[p] {
			return
		}
		if at == (position{}) {
			at = d.at[p]
		}
		if p == "" {
			break
		}
	}
	d.add(at, path, format, args...)
}

// parent cuts the last key or list place from a path.
func parent(path string) string {
	return path[:max(strings.LastIndexAny(path, ".["), 0)]
}

func (d *decoder) check(c *Config) {
	d.checkListeners(c)
	for i, h := range c.Hosts {
		if h == "" || strings.ContainsAny(h, "/*@,") || strings.ContainsFunc(h, unicode.IsSpace) {
			d.wrong(place("hosts", i), "must be a host name, with or without port, such as gateway.example")
		}
	}
	d.checkStore(&c.Store)
	d.checkAuth(&c.Auth)
	for i, o := range c.CORS.Origins {
		if !isOrigin(o) {
			d.wrong(place("cors.origins", i), "must be an origin, scheme and host without path, such as https://app.example, or *")
		}
	}
	if c.CORS.Credentials && slices.Contains(c.CORS.Origins, "*") {
		d.wrong("cors.credentials", "cannot be true with the origin *; name the origins")
	}
	if len(c.Agents) == 0 {
		d.wrong("agents", "at least one agent is needed")
	}
	for i := range c.Agents {
		d.checkAgent(&c.Agents[i], &c.Limits)
	}
}

func (d *decoder) checkListeners(c *Config) {
	host, port, ok := splitListen(c.Listen)
	if !ok {
		d.wrong("listen", "must be HOST:PORT, such as 127.0.0.1:8080")
	}
	_, adminPort, adminOK := splitListen(c.Admin.Listen)
	switch {
	case !adminOK:
		d.wrong("admin.listen", "must be HOST:PORT, such as 127.0.0.1:9090")
	case ok && c.Listen == c.Admin.Listen && port == adminPort && port != "0":
		d.wrong("admin.listen", "is the public listener's address; the public listener serves no admin route [OPS-1]")
	}
	if ok && c.Auth.Mode == "none" && !c.Auth.Insecure && !isLoopback(host) {
		path := "listen"
		if _, written := d.at["auth.mode"]; written {
			path = "auth.mode"
		}
		d.wrong(path, "auth.mode none on a listener that is not loopback lets anybody in; set auth.mode to keys, or auth.insecure to true")
	}
}

func (d *decoder) checkStore(s *Store) {
	if s.NATS != "embedded" {
		for server := range strings.SplitSeq(s.NATS, ",") {
			if !isNATS(strings.TrimSpace(server)) {
				d.wrong("store.nats", "must be embedded, or nats:// or tls:// addresses separated by commas")
				break
			}
		}
	}
	if s.Dir == "" {
		d.wrong("store.dir", "must be a folder, or memory")
	}
	if s.Replicas%2 == 0 {
		d.wrong("store.replicas", "must be 1, 3 or 5")
	}
	if !storePrefix.MatchString(s.Prefix) {
		d.wrong("store.prefix", "must match %s", storePrefix)
	}
	if s.TLS.Cert != "" && s.TLS.Key == "" {
		d.wrong("store.tls.cert", "needs store.tls.key")
	}
	if s.TLS.Key != "" && s.TLS.Cert == "" {
		d.wrong("store.tls.key", "needs store.tls.cert")
	}
}

func (d *decoder) checkAuth(a *Auth) {
	if a.Mode == "keys" && len(a.Keys) == 0 {
		d.wrong("auth.keys", "mode keys needs at least one key")
	}
	if a.Mode == "none" && len(a.Keys) > 0 {
		d.wrong("auth.keys", "keys are not looked at with mode none; set auth.mode to keys")
	}
	ids, secrets := map[string]int{}, map[Secret]int{}
	for i, k := range a.Keys {
		path := place("auth.keys", i)
		d.checkKey(&k, path)
		if first, twice := ids[k.ID]; twice && k.ID != "" {
			d.wrong(path+".id", "is the id of %s too", place("auth.keys", first))
		} else {
			ids[k.ID] = i
		}
		if first, twice := secrets[k.Secret]; twice && k.Secret != "" {
			d.wrong(path+".secret", "is the secret of %s too", place("auth.keys", first))
		} else {
			secrets[k.Secret] = i
		}
	}
}

func (d *decoder) checkKey(k *Key, path string) {
	if !isName(k.ID) {
		d.wrong(path+".id", "is needed: 1 to 256 bytes without control characters")
	}
	if !isName(k.Tenant) || k.Tenant == "*" {
		d.wrong(path+".tenant", "must be 1 to 256 bytes without control characters, and not *")
	}
	switch {
	case k.Secret == "":
		d.wrong(path+".secret", "is needed")
	case strings.ContainsFunc(string(k.Secret), func(r rune) bool { return r <= ' ' || r > '~' }):
		d.wrong(path+".secret", "must be visible ASCII without blanks, since it travels in a header")
	case len(k.Secret) < minSecret:
		d.wrong(path+".secret", "is shorter than %d characters", minSecret)
	}
	if len(k.Roles) == 0 {
		d.wrong(path+".roles", "must name at least one role")
	}
}

// isName reports whether s can be a tenant or a subject.
func isName(s string) bool {
	return s != "" && len(s) <= 256 && !strings.ContainsFunc(s, unicode.IsControl)
}

// splitListen takes HOST:PORT apart; the port is a number.
func splitListen(s string) (host, port string, ok bool) {
	host, port, err := net.SplitHostPort(s)
	if err != nil || strings.ContainsAny(host, "/@, ") {
		return "", "", false
	}
	_, err = strconv.ParseUint(port, 10, 16)
	return host, port, err == nil
}

// isLoopback reports whether a listener's host can be reached from this machine
// only. An empty host is every address.
func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// isOrigin follows RFC 6454 §6.2 but for null, which any sandboxed page sends.
func isOrigin(s string) bool {
	if s == "*" {
		return true
	}
	if !originText.MatchString(strings.ToLower(s)) {
		return false
	}
	u, err := url.Parse(s)
	return err == nil && u.Hostname() != "" && !strings.HasSuffix(u.Host, ":")
}

func isNATS(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "nats" || u.Scheme == "tls") && u.Hostname() != "" && (u.Path == "" || u.Path == "/")
}

func place(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }
