package asyncio_test

import (
	"fmt"
	"testing"

	"poolwise/pool"
	"poolwise/pool/pooltest"
)

// TestTalk holds the semaphore to the conversations in testdata/talk.
func TestTalk(t *testing.T) {
	pooltest.Talk(t, "asyncio", pooltest.Hooks{State: func(s pool.Stats) string {
		return fmt.Sprintf("capacity=%d free=%d waiting=%d", s.Size-s.Leaked, s.Idle, s.Waiting)
	}})
}
