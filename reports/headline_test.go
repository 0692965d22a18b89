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

// TestRetriesAreSaid: 100 requests of 50 a second and 174 retries are 2.74 attempts each, 137 a second.
func TestRetriesAreSaid(t *testing.T) {
	c := record.Cell{Requests: record.Requests{Total: 100, OK: 20, Failed: 80, Retries: 174}, Arrivals: record.ExactFloat(50)}
	says := retries(&c)
	if want := "With retries a request makes 2.74 attempts in the mean: 137 a second, of 50 requests a second that arrive."; len(says) != 1 || says[0] != want {
		t.Errorf("%q, want %q", says, want)
	}
	if c.Requests.Retries = 0; retries(&c) != nil {
		t.Errorf("without any: %q", retries(&c))
	}
}
