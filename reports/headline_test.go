package reports

import (
	"testing"

	"poolwise/sim/record"
)

// TestHeadlineOfOneRequest: one is not "all 1 requests". The first letter is raised when the headline is put together.
func TestHeadlineOfOneRequest(t *testing.T) {
	ok := record.Cell{Requests: record.Requests{Total: 1, OK: 1}}
	if got := cellHeadline(&ok)[0]; got != "The one request succeeds." {
		t.Errorf("%q", got)
	}
	failed := record.Cell{Requests: record.Requests{Total: 1, Failed: 1}}
	failed.Requests.Outcomes[record.AcquireTimeout] = 1
	if got := cellHeadline(&failed)[0]; got != "the one request fails: 1 acquire_timeout." {
		t.Errorf("%q", got)
	}
}
