package drover

import (
	"log/slog"
	"testing"
)

// A report frees its slot and is queued in one step of the gatherer. A poll that asked "is a report
// queued?" before that step and counted the free slots after it would take the slot for itself.
func TestFreeSlotsAreCountedWhileNoReportCanBeQueued(t *testing.T) {
	reports := newReports(slog.New(slog.DiscardHandler))
	counted := 0
	polling := &polling{
		polls:  &polls{},
		decide: reports.decide,
		free: func() int {
			counted++
			if reports.mu.TryLock() {
				reports.mu.Unlock()
				t.Error("a report can be queued while the free slots are counted")
			}
			return 1
		},
	}
	if most := polling.promise(); most != 1 || counted == 0 {
		t.Fatalf("%d slots are promised to a poll of its own, and 1 is free", most)
	}
}
