// Package principal says who a caller is: tenant, subject and roles [OWN-2].
package principal

// Role is what a credential allows beyond its own threads.
type Role string

// The roles of contract §2 (auth.keys[].roles).
const (
	Client   Role = "client"   // its own threads
	Machine  Role = "machine"  // acts for a named subject of its tenant
	Operator Role = "operator" // reads and settles all threads of its tenant
)

// Principal is a caller after authentication. The zero value is nobody.
type Principal struct {
	Tenant  string
	Subject string // whose threads these are; for a machine, the subject it acts for
	Key     string // id of the credential, for the log
	Roles   []Role
}

// Anonymous is every caller when auth is off.
var Anonymous = Principal{Tenant: "default", Subject: "anonymous", Key: "none", Roles: []Role{Client}}

// Has reports whether the principal holds role r.
func (p Principal) Has(r Role) bool {
	for _, have := range p.Roles {
		if have == r {
			return true
		}
	}
	return false
}

// Known reports whether p was authenticated at all.
func (p Principal) Known() bool { return p.Tenant != "" && p.Subject != "" }

// Owns reports whether p may read and settle what belongs to subject of tenant
// [OWN-1, OWN-2].
func (p Principal) Owns(tenant, subject string) bool {
	if !p.Known() || p.Tenant != tenant {
		return false
	}
	return p.Subject == subject || p.Has(Operator)
}
