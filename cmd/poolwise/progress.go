package main

import (
	"io"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
)

// progress shows on a terminal how far a run has come, once it has taken a while. An error of the terminal is nothing to stop a
// run for: none is looked at.
type progress struct {
	timer *time.Timer
	mu    sync.Mutex // of all below
	bar   *progressbar.ProgressBar
	done  int
	shown bool
	over  bool
}

// newProgress begins to count, and to show it when patience has run out.
func newProgress(w io.Writer, total int, patience time.Duration) *progress {
	p := &progress{}
	p.bar = progressbar.NewOptions(total,
		progressbar.OptionSetWriter(w),
		progressbar.OptionSetDescription("replications"),
		progressbar.OptionShowCount(),
		progressbar.OptionSetWidth(30),
		progressbar.OptionThrottle(100*time.Millisecond),
	)
	p.bar.StartWithoutRender() // from now on, for the time that is left
	p.timer = time.AfterFunc(patience, p.show)
	return p
}

func (p *progress) show() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over { // the timer was about to go off
		return
	}
	p.shown = true
	_ = p.bar.Set(p.done)
}

// set says how many are done.
func (p *progress) set(done, _ int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done = done
	if p.shown {
		_ = p.bar.Set(done)
	}
}

// stop takes the bar away.
func (p *progress) stop() {
	p.timer.Stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		_ = p.bar.Clear()
	}
	p.shown, p.over = false, true
}
