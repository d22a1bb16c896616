package gateway

import (
	"testing"

	"github.com/aguigate/aguigate/gateway/config"
	"github.com/aguigate/aguigate/protocol/fault"
)

func TestAuthenticate(t *testing.T) {
	k := newKeyring(config.Auth{Mode: "keys", Keys: []config.Key{
		{ID: "alice", Secret: "alice-secret-0123", Tenant: "acme"},
		{ID: "backend", Secret: "backend-secret-01", Tenant: "acme", Roles: []string{"machine"}},
	}})
	for _, c := range []struct {
		secret, identity string
		subject          string
		code             fault.Code
	}{
		{"alice-secret-0123", "", "alice", ""},
		{"alice-secret-012", "", "", fault.Unauthenticated},
		{"", "", "", fault.Unauthenticated},
		{"alice-secret-0123", "bob", "", fault.Forbidden},
		{"backend-secret-01", "", "backend", ""},
		{"backend-secret-01", "bob", "bob", ""},
		{"backend-secret-01", "b\nob", "", fault.InvalidRequest},
	} {
		p, err := k.authenticate(c.secret, c.identity)
		if p.Subject != c.subject || fault.CodeOf(err) != c.code {
			t.Errorf("%q as %q: %q %v, want %q %s", c.secret, c.identity, p.Subject, err, c.subject, c.code)
		}
		if err == nil && p.Tenant != "acme" {
			t.Errorf("%q: tenant %q", c.secret, p.Tenant)
		}
	}
}
