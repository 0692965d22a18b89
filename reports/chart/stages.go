package chart

import (
	"errors"
	"image/color"
	"slices"

	"gonum.org/v1/plot/vg"

	"poolwise/reports/internal/digest"
	"poolwise/sim/record"
)

// stageInk is how a stage is drawn.
type stageInk struct {
	name  string
	color color.Color
}

var stageInks = [record.NumStages]stageInk{
	record.StageThread:  {"wait for a thread", rgb(0x7a3e9d)},
	record.StageWait:    {"wait for a connection", red},
	record.StageConnect: {"connect and backoff", orange},
	record.StageCheck:   {"checks and pings", purple},
	record.StagePooler:  {"wait at the pooler", brown},
	record.StageQueue:   {"server queue", sky},
	record.StageLock:    {"wait for a lock", black},
	record.StageRunning: {"running", blue},
	record.StageKept:    {"kept idle", green},
	record.StageOutside: {"outside, nothing held", rgb(0xa8d5c4)},
	record.StageReturn:  {"return", rgb(0xf0e442)},
	record.StagePause:   {"pause before a retry", grey},
	record.StageOther:   {"late start", rgb(0xc9ccd1)},
}

// mostBarred is how many cells a chart of stages has at the most.
const mostBarred = 16

// stageBar is one bar: where the time of some requests went.
type stageBar struct {
	name, short string
	split       *record.StageSplit
}

// stageBars returns the bars of a cell: of its served requests, of the slowest of them, and of those that failed.
func stageBars(c *record.Cell) []stageBar {
	s := c.Stages
	if s == nil {
		return nil
	}
	var all []stageBar
	if s.All.N > 0 {
		all = append(all, stageBar{"all", "all", &s.All})
	}
	if s.Slowest.N > 0 && s.Slowest.N < s.All.N {
		all = append(all, stageBar{"slowest", "slow", &s.Slowest})
	}
	if s.Failed != nil && s.Failed.N > 0 {
		all = append(all, stageBar{"failed", "fail", s.Failed})
	}
	return all
}

// knowsStages reports whether some cell says where the time of its requests went.
func knowsStages(r *record.Result) bool {
	return slices.ContainsFunc(r.Cells, func(c record.Cell) bool { return len(stageBars(&c)) > 0 })
}

// WhereTheTimeWent draws, for each cell that knows, how the latency of its requests divides among stages: of all that were served,
// of the slowest 1 % and of those that failed. Of many cells some are shown.
func WhereTheTimeWent(r *record.Result, format string) ([]byte, error) {
	c := &stageChart{}
	shown := notable(r, mostBarred)
	for _, i := range shown {
		if len(stageBars(&r.Cells[i])) > 0 {
			c.cells = append(c.cells, &r.Cells[i])
		}
	}
	if len(c.cells) == 0 {
		return nil, errors.New("stages: the result does not say where the time went")
	}
	c.remark = leftOut(len(shown), len(r.Cells))
	c.keys = digest.Varying(r)
	return render(format, func(s *sheet) { c.draw(s, r) })
}

// stageChart is a chart of stages.
type stageChart struct {
	cells  []*record.Cell
	keys   []string // of the settings that vary
	remark string
}

func (c *stageChart) draw(s *sheet, r *record.Result) {
	remark := "How latency divides among stages, of all served requests, of the slowest 1 % and of failed ones. Above: its mean." + c.remark
	top := s.title(r, "where the time went", remark)
	var used [record.NumStages]bool
	bars := 0
	for _, cell := range c.cells {
		for _, b := range stageBars(cell) {
			bars++
			for i, p := range b.split.Stages {
				used[i] = used[i] || p.Share >= 0.001
			}
		}
	}
	var entries []entry
	for i, ink := range stageInks {
		if used[i] {
			entries = append(entries, entry{name: ink.name, color: ink.color, patch: true})
		}
	}
	// Each bar has a place of one unit; between two cells half of one is free.
	x := scale{from: 64, to: width - margin}
	unit := (x.to - x.from) / vg.Length(float64(bars)+0.5*float64(len(c.cells)))
	narrow := unit < labelInk.width("99.9 ms")+space
	top = s.legend(margin, width-margin, top-8, entries) - 22
	if narrow {
		top -= 11 // for a second row of means
	}
	foot := vg.Length(44) // for two rows of labels and the name of the setting
	if len(c.keys) == 0 {
		foot = 18
	}
	p := s.newPanel(x, scale{hi: 1}, margin+foot, top)
	var ticks []tick
	for _, v := range []float64{0, 0.25, 0.5, 0.75, 1} {
		ticks = append(ticks, tick{v: v, label: trimmed(v*100) + " %"})
	}
	p.grid(ticks)

	at := x.from + unit/4
	var means [2]row
	var names, labels row
	for _, cell := range c.cells {
		first := at
		for i, b := range stageBars(cell) {
			p.stack(b.split, at+unit*0.06, at+unit*0.94)
			mid, line, name := at+unit/2, 0, b.name
			if narrow {
				line, name = i%2, b.short
			}
			if mean := digest.Duration(b.split.Latency.Value); means[line].fits(mid, labelInk.width(mean)+space) {
				p.text(mid, p.y.to+5+11*vg.Length(line), middle, mean, labelInk)
			}
			if names.fits(mid, labelInk.width(name)+2) {
				p.text(mid, p.y.from-12, middle, name, labelInk)
			}
			at += unit
		}
		mid, label := (first+at)/2, headInk.fit(cellName(c.keys, cell), max(160, at-first+unit/2-space))
		if label != "" && labels.fits(mid, headInk.width(label)+space) {
			p.text(mid, p.y.from-25, middle, label, headInk)
		}
		at += unit / 2
	}
	p.line(grey, 0.7, false, vg.Point{X: x.from, Y: p.y.from}, vg.Point{X: x.to, Y: p.y.from})
	p.text((x.from+x.to)/2, p.y.from-39, middle, labelInk.fit(keyNames(c.keys), x.to-x.from), labelInk)
}

// stack draws the stages of a bar, one on the other, with the shares of those that have room for it.
func (p *panel) stack(s *record.StageSplit, from, to vg.Length) {
	var sum float64
	for i, part := range s.Stages {
		if part.Share <= 0 {
			continue
		}
		low := p.y.at(sum)
		sum += part.Share
		high := p.y.at(sum)
		p.rectangle(stageInks[i].color, from, low, to, high)
		share := digest.Share(part.Share)
		if k := on(stageInks[i].color); high-low > 14 && to-from > k.width(share)+4 {
			p.text((from+to)/2, (low+high)/2-3, middle, share, k)
		}
	}
}

// on returns an ink that can be read on a colour.
func on(c color.Color) ink {
	r, g, b, _ := c.RGBA()
	if 299*r+587*g+114*b > 1000*0x9000 { // its luminance
		return ink{black, 9, false}
	}
	return ink{white, 9, false}
}
