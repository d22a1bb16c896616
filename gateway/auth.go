package gateway

import (
	"crypto/sha256"
	"strings"
	"unicode"

	"github.com/aguigate/aguigate/gateway/config"
	"github.com/aguigate/aguigate/protocol/fault"
	"github.com/aguigate/aguigate/protocol/principal"
)

// IdentityHeader names the subject a machine acts for [OWN-2].
const IdentityHeader = "X-Aguigate-Identity"

// keyring finds the principal of a secret. Secrets are kept and looked up by
// their SHA-256, so that neither a log nor the time of a comparison tells one.
type keyring struct {
	off  bool // auth.mode none
	keys map[[32]byte]principal.Principal
}

func newKeyring(c config.Auth) *keyring {
	k := &keyring{off: c.Mode == "none", keys: map[[32]byte]principal.Principal{}}
	for _, key := range c.Keys {
		p := principal.Principal{Tenant: key.Tenant, Subject: key.ID, Key: key.ID}
		for _, r := range key.Roles {
			p.Roles = append(p.Roles, principal.Role(r))
		}
		if len(p.Roles) == 0 {
			p.Roles = []principal.Role{principal.Client}
		}
		k.keys[sha256.Sum256([]byte(key.Secret))] = p
	}
	return k
}

// authenticate finds the principal of a request's one secret. identity is the
// subject a machine acts for, "" when not sent [OWN-2].
func (k *keyring) authenticate(secret, identity string) (principal.Principal, error) {
	p := principal.Anonymous
	if !k.off {
		if secret == "" {
			return principal.Principal{}, fault.New(fault.Unauthenticated, "a credential is needed: Authorization: Bearer, X-API-Key or xi-api-key")
		}
		known, ok := k.keys[sha256.Sum256([]byte(secret))]
		if !ok {
			return principal.Principal{}, fault.New(fault.Unauthenticated, "this credential is not known")
		}
		p = known
	}
	if identity == "" {
		return p, nil
	}
	if !p.Has(principal.Machine) {
		return principal.Principal{}, fault.New(fault.Forbidden, "only a machine credential may act for another subject").At(IdentityHeader)
	}
	if len(identity) > 256 || strings.ContainsFunc(identity, unicode.IsControl) {
		return principal.Principal{}, fault.New(fault.InvalidRequest, "an identity is 1 to 256 bytes without control characters").At(IdentityHeader)
	}
	p.Subject = identity
	return p, nil
}
