package carrier

import (
	"strings"

	"github.com/aguigate/aguigate/protocol/fault"
	"github.com/valyala/fasthttp"
)

// Credential is the one secret a head carries, from Authorization: Bearer,
// X-API-Key, xi-api-key, or "bearer.<secret>" among the offered socket protocols
// [OWN-4]; "" when it carries none. Two different ones are 401 unauthenticated:
// which of them counts must not depend on who reads. Another Authorization scheme
// counts as none.
func Credential(h *fasthttp.RequestHeader) (string, error) {
	secret := ""
	for _, from := range credentialFields {
		for _, v := range h.PeekAll(from.name) {
			one := from.read(strings.TrimSpace(string(v)))
			if one == "" {
				continue
			}
			if secret != "" && secret != one {
				return "", fault.New(fault.Unauthenticated, "the request carries different credentials; send one").At("Authorization")
			}
			secret = one
		}
	}
	return secret, nil
}

var credentialFields = []struct {
	name string
	read func(string) string
}{
	{"Authorization", bearer},
	{"X-Api-Key", func(v string) string { return v }},
	{"Xi-Api-Key", func(v string) string { return v }},
	{"Sec-Websocket-Protocol", protocolBearer},
}

// protocolBearer finds the secret in a list of sub-protocols; browsers can set no
// other header of a socket.
func protocolBearer(v string) string {
	for p := range strings.SplitSeq(v, ",") {
		if secret, ok := strings.CutPrefix(strings.TrimSpace(p), "bearer."); ok {
			return secret
		}
	}
	return ""
}

// bearer is the token of a Bearer value, the scheme in any case (RFC 9110 §11.1).
func bearer(v string) string {
	scheme, token, _ := strings.Cut(v, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}
