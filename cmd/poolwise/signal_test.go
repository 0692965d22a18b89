//go:build unix

package main

import (
	"os"
	"syscall"
	"testing"
	"time"
)

// TestSignals: Ctrl-C, the end of a job and of a terminal all let a run end in order.
func TestSignals(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		ctx, stop := interruptible()
		if err := syscall.Kill(os.Getpid(), s); err != nil {
			t.Fatal(err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(10 * time.Second):
			t.Errorf("%v: the run goes on", s)
		}
		stop()
	}
}
