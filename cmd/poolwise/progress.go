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
	total int
	shown bool
	over  bool
}

// newProgress begins to count, and to show it when patience has run out.
func newProgress(w io.Writer, total int, patience time.Duration) *progress {
	p := &progress{total: total}
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
	p.render()
}

// render shows the bar as it is now.
func (p *progress) render() {
	if p.bar.GetMax() != p.total {
		p.bar.ChangeMax(p.total)
	}
	_ = p.bar.Set(p.done)
}

// set says how many are done, of how many.
func (p *progress) set(done, total int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done, p.total = done, total
	if p.shown {
		p.render()
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
