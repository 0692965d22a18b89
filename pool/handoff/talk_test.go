package handoff_test

import (
	"fmt"
	"testing"

	"poolwise/pool"
	"poolwise/pool/pooltest"
	"poolwise/sim/server"
)

// TestTalk holds the pool to the conversations in testdata/talk: the state of the pool is its ledger.
func TestTalk(t *testing.T) {
	pooltest.Talk(t, "handoff", pooltest.Hooks{
		State: func(s pool.Stats) string {
			return fmt.Sprintf("total=%d idle=%d borrowed=%d creating=%d waiting=%d leaked=%d",
				s.Size, s.Idle, s.InUse, s.Size-s.Idle-s.InUse, s.Waiting, s.Leaked)
		},
		Commands: map[string]func(p pool.Pool, loan pool.Conn, args []string) string{
			"dirty": func(p pool.Pool, loan pool.Conn, args []string) string {
				for _, what := range args {
					p.(pool.Stateful).Dirty(loan, map[string]pool.SessionState{
						"transaction": pool.OpenTransaction, "parameter": pool.ChangedParameter,
					}[what])
				}
				return ""
			},
			"state": func(p pool.Pool, loan pool.Conn, _ []string) string {
				s := p.(pool.Stateful).State(loan)
				return fmt.Sprintf("transaction open: %v, parameter changed: %v", s&pool.OpenTransaction != 0, s&pool.ChangedParameter != 0)
			},
			"session": func(p pool.Pool, loan pool.Conn, _ []string) string {
				return fmt.Sprintf("has a session: %v", p.Session(loan) != server.NoSession)
			},
		},
	})
}
