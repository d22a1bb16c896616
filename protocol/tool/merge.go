package tool

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/aguigate/aguigate/protocol/fault"
	"github.com/aguigate/aguigate/protocol/strictjson"
)

// AllowRule lets advertised tools in [SEC-6].
type AllowRule struct {
	Name           string // a name, or a pattern with *
	SchemaSHA256   string // hex digest of the schema's canonical JSON; "" is any
	TextConfigured bool   // description and schema are the configured ones
}

// Policy says what clients may add.
type Policy struct {
	Allow          []AllowRule
	Deny           []string // names and patterns; it wins over Allow
	OnDenied       string   // reject | ignore
	OnUpstreamName string   // reject | ignore
}

// MergeInput is everything an offer depends on [MERGE-1].
type MergeInput struct {
	Configured []Tool
	Advertised []Tool
	Executors  []string // names that live executors of the thread advertised
	Policy     Policy
	Limits     Limits
	NoClient   bool // a call without a client is offered none [UP-1]
	// CheckSchema stands in for the function of that name where the caller
	// remembers which schemas have passed: compiling each schema again for each
	// run is most of the work of a merge. nil is CheckSchema itself.
	CheckSchema func(raw []byte) error
}

// Offer is what one run offers its upstream.
type Offer struct {
	Tools         []Tool             // configured ones first, each list in its own order
	Ignored       []string           // advertised names that were left out
	ConfigIgnored []string           // those of them that the configuration gives to the upstream
	Owners        map[string]Handler // of every name offered or known [MERGE-6]
}

// Owner says who runs a tool of this run. A name that was not sent as a client
// tool is the upstream's [MERGE-6].
func (o *Offer) Owner(name string) Handler {
	if o.Owners[name] == Client {
		return Client
	}
	return Upstream
}

// Merge makes the offer of a run: a pure function of its input, the same order
// each time. It refuses with invalid_tool, tool_reserved or tool_conflict, always
// naming a tool the client itself has sent.
func Merge(in MergeInput) (*Offer, error) {
	if in.CheckSchema == nil {
		in.CheckSchema = CheckSchema
	}
	advertised, err := checked(in)
	if err != nil {
		return nil, err
	}
	m := merger{in: in, offer: &Offer{Owners: map[string]Handler{}}, configured: map[string]*Tool{}}
	for i := range in.Configured {
		t := &in.Configured[i]
		m.configured[t.Name] = t
		m.offer.Owners[t.Name] = Upstream // until it is offered
	}
	allowed, err := m.admit(advertised)
	if err != nil {
		return nil, err
	}
	if in.NoClient {
		return m.offer, nil
	}
	m.offerConfigured(allowed)
	for _, t := range allowed {
		if m.configured[t.Name] == nil {
			m.add(t)
		}
	}
	if n := in.Limits.Tools; n > 0 && len(m.offer.Tools) > n {
		return nil, fault.New(fault.InvalidTool, "this run would have %d tools, at most %d are allowed", len(m.offer.Tools), n).At("/tools")
	}
	return m.offer, nil
}

// checked holds each advertised tool to the limits and collapses equal ones; two
// different tools of one name are tool_conflict [MERGE-4].
func checked(in MergeInput) ([]Tool, error) {
	if n := in.Limits.Tools; n > 0 && len(in.Advertised) > n {
		return nil, fault.New(fault.InvalidTool, "%d tools were sent, at most %d are allowed", len(in.Advertised), n).At("/tools")
	}
	var out []Tool
	at := map[string]int{}
	for _, t := range in.Advertised {
		t, err := checkTool(t, in.Limits, in.CheckSchema)
		if err != nil {
			return nil, err
		}
		t.Handler = Client
		if i, dup := at[t.Name]; dup {
			if !same(out[i], t) {
				return nil, fault.New(fault.ToolConflict, "two different tools are called %s", t.Name).At(t.Name)
			}
			continue
		}
		at[t.Name] = len(out)
		out = append(out, t)
	}
	return out, nil
}

// same compares two definitions: text by its bytes, JSON by its value. A member that
// nothing here reads may be what sets two apart, such as an approval (F027).
func same(a, b Tool) bool {
	if a.Written != nil && b.Written != nil && !sameJSON(a.Written, b.Written) {
		return false
	}
	return a.Description == b.Description && sameJSON(a.Parameters, b.Parameters) && sameJSON(a.Metadata, b.Metadata)
}

func sameJSON(a, b []byte) bool {
	ca, errA := strictjson.Canonical(nil, a)
	cb, errB := strictjson.Canonical(nil, b)
	if errA != nil || errB != nil {
		return bytes.Equal(a, b)
	}
	return bytes.Equal(ca, cb)
}

type merger struct {
	in         MergeInput
	offer      *Offer
	configured map[string]*Tool
}

// admit sorts out names that belong to the upstream and names that are not
// allowed.
func (m *merger) admit(advertised []Tool) ([]Tool, error) {
	var out []Tool
	for _, t := range advertised {
		conf := m.configured[t.Name]
		if conf != nil && conf.Handler == Upstream {
			if m.in.Policy.OnUpstreamName == "reject" {
				return nil, fault.New(fault.ToolConflict, "the name %s cannot be used by a client's tool here", t.Name).At(t.Name)
			}
			m.offer.Ignored = append(m.offer.Ignored, t.Name)
			m.offer.ConfigIgnored = append(m.offer.ConfigIgnored, t.Name)
			continue
		}
		rule, ok := m.in.Policy.admits(t, conf)
		if !ok {
			if m.in.Policy.OnDenied != "ignore" {
				return nil, fault.New(fault.ToolReserved, "the tool %s may not be offered here", t.Name).At(t.Name)
			}
			m.offer.Ignored = append(m.offer.Ignored, t.Name)
			continue
		}
		if rule.TextConfigured && conf != nil {
			t.Description, t.Parameters, t.Metadata = conf.Description, conf.Parameters, nil
		}
		out = append(out, t)
	}
	return out, nil
}

// admits finds the rule that lets a tool in. A rule for exactly this name decides
// before patterns do, so that {name: pay, schema_sha256: …} beside "*" means what
// it says. A configured client tool needs no rule, since its own configuration is
// the permission; but rules that match it say what a client may send for it. Deny
// is about what clients add, so it does not reach configured tools.
func (p Policy) admits(t Tool, conf *Tool) (AllowRule, bool) {
	denied := func(pattern string) bool { return matches(pattern, t.Name) }
	if conf == nil && slices.ContainsFunc(p.Deny, denied) {
		return AllowRule{}, false
	}
	rules := p.rulesFor(t.Name)
	for _, rule := range rules {
		if rule.TextConfigured && conf == nil {
			continue // there is no configured text to use
		}
		if rule.SchemaSHA256 == "" || strings.EqualFold(rule.SchemaSHA256, SchemaDigest(t.Parameters)) {
			return rule, true
		}
	}
	return AllowRule{}, conf != nil && len(rules) == 0
}

func (p Policy) rulesFor(name string) (rules []AllowRule) {
	for _, rule := range p.Allow {
		if rule.Name == name {
			rules = append(rules, rule)
		}
	}
	if rules != nil {
		return rules
	}
	for _, rule := range p.Allow {
		if matches(rule.Name, name) {
			rules = append(rules, rule)
		}
	}
	return rules
}

// SchemaDigest is the SHA-256 of a schema's canonical JSON in hex; no schema has
// the digest of null.
func SchemaDigest(schema []byte) string {
	if schema == nil {
		schema = []byte("null")
	}
	b, err := strictjson.Canonical(nil, schema)
	if err != nil {
		b = schema
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// matches compares a name with a pattern in which * stands for any characters.
func matches(pattern, name string) bool {
	head, rest, wild := strings.Cut(pattern, "*")
	if !wild {
		return pattern == name
	}
	name, ok := strings.CutPrefix(name, head)
	for ok {
		part, more, wild := strings.Cut(rest, "*")
		if !wild {
			return strings.HasSuffix(name, part)
		}
		_, name, ok = strings.Cut(name, part)
		rest = more
	}
	return false
}

// offerConfigured offers the configured client tools that are available, with the
// configured text before an advertised one [MERGE-3, MERGE-5].
func (m *merger) offerConfigured(advertised []Tool) {
	for i := range m.in.Configured {
		t := m.in.Configured[i]
		if t.Handler != Client {
			continue
		}
		n := slices.IndexFunc(advertised, func(a Tool) bool { return a.Name == t.Name })
		if t.Availability != Always && n < 0 && !slices.Contains(m.in.Executors, t.Name) {
			continue
		}
		if n >= 0 {
			a := advertised[n]
			if t.Description == "" {
				t.Description = a.Description
			}
			if t.Parameters == nil || t.SchemaFrom == "client" && a.Parameters != nil {
				t.Parameters = a.Parameters
			}
			t.Metadata = a.Metadata
		}
		m.add(t)
	}
}

func (m *merger) add(t Tool) {
	m.offer.Tools = append(m.offer.Tools, t)
	m.offer.Owners[t.Name] = Client
}
