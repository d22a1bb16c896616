package e2e

import (
	"strings"
	"testing"
)

// awkward is a tool result that any re-encoding on the way would change.
const awkward = `{"city":"Porto \"é\" \u00e9","lat":41.10,"n":1152921504606846976 , "x":null}`

// Baseline: the same exchanges without a gateway. When one of these fails, a
// peer changed, not aguigate.
func TestBaseline(t *testing.T) {
	agents := map[string]func() (string, error){"copilot": copilotURL, "gosdk": goAgentURL}
	for _, version := range versions {
		for name, url := range agents {
			t.Run(name+" "+version, func(t *testing.T) {
				t.Parallel()
				c := open(t, opening{Version: version, URL: must(t, url), ThreadID: threadID(t)})
				r := c.do(step{User: "where am I", Tools: bothTools, Answers: map[string]string{"get_location": awkward}})
				if len(r.Runs) != 2 || r.Runs[0].Error != nil || r.Runs[1].Error != nil {
					t.Fatalf("runs: %v", r.Runs)
				}
				contains(t, r.lastText(), awkward)
				r = c.do(step{User: "where am I"})
				if !strings.Contains(r.lastText(), "No tool get_location was offered") {
					t.Fatalf("the agent knows the client's tools beforehand: %q", r.lastText())
				}
			})
		}
	}
}
