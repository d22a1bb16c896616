package gateway

import "testing"

// What a run had claimed that died is open again, and can be claimed again [RUN-12].
func TestReopen(t *testing.T) {
	rec := threadRecord{Claimed: []string{"i0", "i1"}}
	rec.reopen(&activeRun{Claims: []string{"i1"}, Open: []interrupt{{ID: "i1"}}})
	if len(rec.Interrupts) != 1 || rec.Interrupts[0].ID != "i1" || len(rec.Claimed) != 1 || rec.Claimed[0] != "i0" {
		t.Errorf("open %v, claimed %v", rec.Interrupts, rec.Claimed)
	}
	rec.reopen(&activeRun{Claims: []string{"i0"}, Open: []interrupt{{ID: "i0"}}})
	if len(rec.Interrupts) != 1 {
		t.Errorf("questions of an older run came back: %v", rec.Interrupts)
	}
}
