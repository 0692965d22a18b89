package reports

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"poolwise/reports/internal/digest"
	"poolwise/sim/record"
	"poolwise/sim/wording"
)

// SizeText writes for a terminal which size to use: the answer in plain words, then the sizes that were run.
func SizeText(w io.Writer, s *record.Sizing, o Options) error { return newSizeDocument(s).text(w, o) }

// SizeMarkdown writes the same as GitHub's Markdown.
func SizeMarkdown(w io.Writer, s *record.Sizing) error { return newSizeDocument(s).markdown(w) }

// SizeSummary writes the answer as GitHub's Markdown, for the summary of a step.
func SizeSummary(w io.Writer, s *record.Sizing) error {
	b := bufio.NewWriter(w)
	says := SizeHeadline(s)
	b.WriteString("### " + escape(titleOf(s.Scenario)) + "\n\n" + escape(says[0]) + "\n")
	items(b, append(says[1:], sizeRunLine(s)))
	if t := sizeTable(s); len(t.rows) > 0 {
		b.WriteByte('\n')
		t.markdown(b)
	}
	if all := sizeWarnings(s); len(all) > 0 {
		b.WriteString("\n**Warnings**\n")
		items(b, all)
	}
	b.WriteByte('\n')
	return b.Flush()
}

func newSizeDocument(s *record.Sizing) *document {
	d := &document{
		headline: SizeHeadline(s),
		about:    digest.Printable(s.Scenario.About),
		run:      sizeRunLine(s),
		warnings: sizeWarnings(s),
		notes:    sizeNotes(s),
	}
	if name := digest.Printable(s.Scenario.Name); name != "" {
		d.headline[0] = name + ": " + d.headline[0]
	}
	for _, t := range []*table{sizeTable(s), sizeChecks(s)} {
		if len(t.rows) > 0 {
			d.tables = append(d.tables, t)
		}
	}
	return d
}

// SizeHeadline says in plain words which size to use, and what matters about it.
func SizeHeadline(s *record.Sizing) []string {
	first := ""
	switch {
	case s.Use != nil && s.Basis == record.ByKnee && !anyClean(s):
		first = fmt.Sprintf("At no size do all requests succeed; %d does best. ", *s.Use)
	case s.Use != nil:
		first = fmt.Sprintf("Use %d. ", *s.Use)
	case s.Verdict == record.Inconclusive:
		first = "It cannot be told which size to use. "
	case s.Basis == record.ByChecks:
		first = "No size meets the checks. "
	default:
		first = "At no size is a request served. "
	}
	says := []string{strings.TrimSpace(first + sentence(sizeClauses(s)))}
	for _, more := range []string{cleanSentence(s), sizeOverload(s), kneeSentence(s), instancesSentence(s), erlangSentence(s), uslSentence(s)} {
		if more != "" {
			says = append(says, more)
		}
	}
	return says
}

// sizeOverload says that the cores cannot do the work, whatever the size, or that requests fail even at the size to use.
func sizeOverload(s *record.Sizing) string {
	cells := make([]*record.Cell, len(s.Sizes))
	for i := range s.Sizes {
		cells[i] = &s.Sizes[i].Cell
	}
	text := noSizeIsEnough(cells, s.Key)
	if s.Use == nil {
		return text
	}
	if c := &s.Of(*s.Use).Cell; !c.Clean() && c.Requests.Failed > 0 {
		text = strings.TrimSpace(fmt.Sprintf("Even at %d, %s of the requests fail. ", *s.Use, digest.Share(1-digest.OKShare(c.Requests))) + text)
	}
	return text
}

// cleanSentence says where requests cease to fail, if the answer does not.
func cleanSentence(s *record.Sizing) string {
	k := s.Clean
	if k == nil || s.Below != nil && s.Below.Size == k.Below && s.Below.Check.Expr != "deadlocks<=0" {
		return ""
	}
	text := fmt.Sprintf("%d is the smallest size at which no request fails: at %d, %s of them do", k.Size, k.Below, digest.Share(k.FailedRate.Value))
	if k.Deadlock {
		text += ", in a deadlock"
	}
	if k.Size > k.Below+1 {
		text += "; those between were not run"
	}
	return text + "."
}

// anyClean reports whether no request fails at some size.
func anyClean(s *record.Sizing) bool {
	return slices.ContainsFunc(s.Sizes, func(z record.Sized) bool { return z.Cell.Clean() })
}

// sentence joins clauses.
func sentence(clauses []string) string {
	if len(clauses) == 0 {
		return ""
	}
	text := strings.Join(clauses, "; ") + "."
	return strings.ToUpper(text[:1]) + text[1:]
}

// sizeClauses says what there is to say about sizes, from small to large.
func sizeClauses(s *record.Sizing) []string {
	var all []string
	add := func(clause string) {
		if clause != "" {
			all = append(all, clause)
		}
	}
	if s.Use == nil {
		add(noSize(s))
		if n := len(s.Undecided); n > 0 {
			add(ranges(s, s.Undecided) + is(int64(n)) + " too close to call" + closeCall(s))
		}
	} else {
		add(smaller(s))
		if n := len(s.Undecided); n > 0 {
			add(ranges(s, s.Undecided) + is(int64(n)) + " too close to call")
		}
		if same := s.Alike[slices.Index(s.Alike, *s.Use):]; len(same) > 1 {
			add(ranges(s, same) + " cannot be told apart")
		}
		better := [2]string{"does better", "do better"}
		if s.Basis == record.ByChecks {
			better = [2]string{"passes, too, and does better", "pass, too, and do better"}
		}
		add(related(s, record.SizeBetter, better[0], better[1]))
		add(related(s, record.SizeDifferent, "does better in one thing and worse in another", "do better in one thing and worse in another"))
		add(related(s, record.SizeWorse, "does worse", "do worse"))
		if s.Above != nil && (s.RefusedFrom == nil || s.Above.Size < *s.RefusedFrom) {
			add(fmt.Sprintf("from %d on %s is missed", s.Above.Size, digest.Printable(s.Above.Check.Expr)))
		}
	}
	if s.RefusedFrom != nil {
		add(fmt.Sprintf("from %d on the server refuses connections", *s.RefusedFrom))
	}
	return all
}

// noSize says how far the sizes are from the checks.
func noSize(s *record.Sizing) string {
	c := s.Closest
	if c == nil || s.Verdict != record.FailedCheck {
		return ""
	}
	if c.Check.Status == record.NotEvaluated {
		return fmt.Sprintf("for %s there is nothing to measure at any size from %d to %d", digest.Printable(c.Check.Expr), s.Search.From, s.Search.To)
	}
	return fmt.Sprintf("of the sizes from %d to %d, %d comes closest, with %s for %s", s.Search.From, s.Search.To, c.Size,
		digest.InUnit(c.Check.Value, c.Check.Unit), digest.Printable(c.Check.Expr)) + own(s, c.Check)
}

// own says of a check that the scenario does not have it.
func own(s *record.Sizing, k record.Check) string {
	if k.Expr == s.Guard {
		return ", a check that was added"
	}
	return ""
}

// closeCall says which check cannot be decided.
func closeCall(s *record.Sizing) string {
	for _, size := range s.Undecided {
		for _, k := range s.Of(size).Checks {
			if k.Level == record.LevelError && k.Status == record.Inconclusive {
				return fmt.Sprintf(" (%s at %d: %s to %s)", digest.Printable(k.Expr), size, digest.InUnit(k.Lo, k.Unit), digest.InUnit(k.Hi, k.Unit))
			}
		}
	}
	return ""
}

// smaller says why no smaller size will do.
func smaller(s *record.Sizing) string {
	if b := s.Below; b != nil {
		return fmt.Sprintf("%d misses %s%s%s", b.Size, digest.Printable(b.Check.Expr), value(b.Check), own(s, b.Check))
	}
	if *s.Use == s.Sizes[0].Size {
		return "no smaller size was tried"
	}
	if s.Basis == record.ByChecks {
		return ""
	}
	// By the means: of two sizes that cannot be told apart, one may be above the limits of the knee and the other not.
	if below := s.Alike[:slices.Index(s.Alike, *s.Use)]; len(below) > 0 {
		if slices.Contains(s.Unsettled, below[len(below)-1]) {
			return ranges(s, below) + " may be as good"
		}
		return ranges(s, below) + is(int64(len(below))) + " almost as good"
	}
	if k := s.Knee; k.BelowShare.Known && k.BelowShare.Value < 1-s.Indifference {
		return fmt.Sprintf("%d reaches %s of the best throughput", k.Below, digest.Share(k.BelowShare.Value))
	}
	return fmt.Sprintf("%d has a longer p(99)%s", s.Knee.Below, against(s, s.Knee.Below, "p(99)"))
}

// value writes the value of a check in brackets.
func value(k record.Check) string {
	if k.Status == record.NotEvaluated {
		return " (not measured)"
	}
	return " (" + digest.InUnit(k.Value, k.Unit) + ")"
}

// against writes in brackets by how much a figure of a size differs from that of the one to use.
func against(s *record.Sizing, size int, figure string) string {
	z := s.Of(size)
	if z == nil {
		return ""
	}
	for _, v := range z.Versus {
		if v.Figure == figure && v.Relative.Known {
			return " (" + digest.Change(v.Relative.Value) + ")"
		}
	}
	return ""
}

// related says which sizes above the one to use stand to it in a relation, and by how much the first of them differs.
func related(s *record.Sizing, r record.SizeRelation, one, many string) string {
	var sizes []int
	for _, z := range s.Sizes {
		if z.Relation == r && z.Size > *s.Use {
			sizes = append(sizes, z.Size)
		}
	}
	if sizes == nil {
		return ""
	}
	verb := many
	if len(sizes) == 1 {
		verb = one
	}
	first := s.Of(sizes[0])
	var by []string
	for _, v := range first.Versus {
		if v.Verdict == record.ZoneBetter || v.Verdict == record.ZoneWorse {
			change := digest.Dash
			if v.Relative.Known {
				change = digest.Change(v.Relative.Value)
			} else if f, err := record.ParseFigure(v.Figure); err == nil {
				change = digest.Difference(v.Difference.Value, f.Unit())
			}
			by = append(by, v.Figure+" "+change)
		}
	}
	at := ""
	if len(sizes) > 1 {
		at = " at " + strconv.Itoa(sizes[0])
	}
	return fmt.Sprintf("%s %s (%s%s)", ranges(s, sizes), verb, strings.Join(by, ", "), at)
}

// ranges lists sizes, those as ranges between which no other size was run: "2, 4 and 16 to 40".
func ranges(s *record.Sizing, sizes []int) string {
	var at []int
	for i := range s.Sizes {
		if slices.Contains(sizes, s.Sizes[i].Size) {
			at = append(at, i)
		}
	}
	var parts []string
	for _, run := range runs(at) {
		first, last := strconv.Itoa(s.Sizes[run[0]].Size), strconv.Itoa(s.Sizes[run[len(run)-1]].Size)
		switch len(run) {
		case 1:
			parts = append(parts, first)
		case 2:
			parts = append(parts, first, last)
		default:
			parts = append(parts, first+" to "+last)
		}
	}
	return wording.And(parts)
}

// kneeSentence says where the knee is if that is not the size to use.
func kneeSentence(s *record.Sizing) string {
	k := s.Knee
	if k == nil || s.Use != nil && k.Size == *s.Use {
		return ""
	}
	return fmt.Sprintf("The knee of the curve is at %d: from there on, throughput is within %s of the best, and p(99) of the lowest with it.",
		k.Size, percent(s.Indifference))
}

// percent writes a share that somebody has chosen.
func percent(share float64) string { return strconv.FormatFloat(share*100, 'g', 6, 64) + " %" }

// instancesSentence says what the limit leaves to each instance.
func instancesSentence(s *record.Sizing) string {
	n := s.Instances
	if n == nil {
		return ""
	}
	peak := n.Instances + n.Surge
	who := fmt.Sprintf("%d instances", n.Instances)
	if n.Surge > 0 {
		who = fmt.Sprintf("%d instances at the peak (%d, and %d more)", peak, n.Instances, n.Surge)
	}
	var kept []string
	for _, k := range []struct {
		n    int
		what string
	}{{n.Superuser, "for superusers"}, {n.Reserved, "reserved"}, {n.Others, "for other services"}} {
		if k.n > 0 {
			kept = append(kept, fmt.Sprintf("%d %s", k.n, k.what))
		}
	}
	text := fmt.Sprintf("%s can have %d connections each, of the %d that the %s allows", who, n.Each, n.Left, n.Of)
	if kept != nil {
		text += fmt.Sprintf(" (its limit of %d, less %s)", n.Limit, wording.And(kept))
	}
	var needs []string
	if n.Surge > 0 && n.Without > n.Each {
		needs = append(needs, fmt.Sprintf("the %d that fit without the peak would need %d", n.Without, n.Without*peak))
	}
	if s.Use != nil && *s.Use > n.Each && *s.Use != n.Without {
		needs = append(needs, fmt.Sprintf("%d each would need %d", *s.Use, *s.Use*peak))
	}
	return sentence(append([]string{text}, needs...))
}

// erlangSentence says where an M/M/c calculation would have gone wrong, if it would have.
func erlangSentence(s *record.Sizing) string {
	e := s.ErlangC
	if e == nil || !e.Wrong {
		return ""
	}
	text := fmt.Sprintf("An M/M/c calculation would have gone wrong: for %s erlangs and %d connections it has ", digest.Number(e.Load.Value), e.Servers)
	if e.Wait.Known {
		text += fmt.Sprintf("a mean wait of %s, and the simulation %s", digest.Duration(e.Wait.Value), simulated(e.Simulated))
	} else {
		text += fmt.Sprintf("no end of waiting, and the simulation a mean wait of %s", simulated(e.Simulated))
	}
	if len(e.Reasons) > 0 {
		text += ". It takes for granted what is not so here: " + strings.Join(e.Reasons, "; ")
	}
	return text + "."
}

func simulated(d record.Duration) string {
	if !d.Interval {
		return digest.Duration(d.Value)
	}
	return digest.Duration(d.Value) + " (" + digest.Margin(d) + ")"
}

// uslSentence gives the universal scalability law, or says why it was not fitted.
func uslSentence(s *record.Sizing) string {
	u := s.USL
	switch {
	case u == nil:
		return ""
	case !u.Fitted:
		return "The universal scalability law was not fitted: " + u.Why + "."
	}
	text := fmt.Sprintf("The universal scalability law fits the throughput to within %s: sigma %s, kappa %s, %s for one connection",
		digest.Share(u.Off.Value), parameter(u.Sigma), parameter(u.Kappa), rate(u.Lambda))
	if !u.Peak.Known {
		return text + "; by it, throughput grows without end."
	}
	at := digest.Number(u.Peak.Value)
	if u.Peak.Interval && u.Peak.Lo < u.Peak.Hi {
		at += fmt.Sprintf(" (%s to %s)", digest.Number(u.Peak.Lo), digest.Number(u.Peak.Hi))
	}
	what := "the peak is at " + at + " connections"
	if u.Cores > 0 && u.Peak.Value == float64(u.Cores) {
		what = fmt.Sprintf("throughput grows up to the %d cores", u.Cores)
	}
	return text + "; " + what + fmt.Sprintf(", with %s.", rate(u.AtPeak))
}

// parameter writes a number with its interval.
func parameter(f record.Float) string {
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', 3, 64) }
	if !f.Interval {
		return number(f.Value)
	}
	return fmt.Sprintf("%s (%s to %s)", number(f.Value), number(f.Lo), number(f.Hi))
}

func sizeRunLine(s *record.Sizing) string {
	text := fmt.Sprintf("%s, seed %d", digest.Printable(s.Key), s.Scenario.Seed)
	if s.Scenario.Estimate != "" {
		text += ", " + digest.Printable(s.Scenario.Estimate)
	}
	sizes := digest.Plural(int64(len(s.Sizes)), "size", "sizes")
	if n := s.Search.Sizes; n > len(s.Sizes) {
		sizes = fmt.Sprintf("%d of the %d sizes from %d to %d", len(s.Sizes), n, s.Search.From, s.Search.To)
	}
	text += fmt.Sprintf(", %s in %d replications", sizes, s.Search.Replications)
	if s.Search.Spent {
		return text + fmt.Sprintf(", which the budget of %d ended", s.Search.Budget)
	}
	return text
}

// sizeTable has a row for each size that was run.
func sizeTable(s *record.Sizing) *table {
	t := &table{}
	failures := slices.ContainsFunc(s.Sizes, func(z record.Sized) bool { return z.Cell.Requests.Failed > 0 })
	for i := range s.Sizes {
		z := &s.Sizes[i]
		c := &z.Cell
		failed, slow, share := plain, plain, ""
		if c.Requests.Failed > 0 {
			failed, slow, share = bad, doubtful, okShare(c.Requests)
		}
		t.figure("", digest.Printable(s.Key), strconv.Itoa(z.Size), strong)
		t.key = 1
		word, tone := relationWord(z)
		t.text("", "", word, tone)
		t.figure("", "runs", strconv.Itoa(c.Replications), plain)
		if failures {
			t.float("requests", "failed", c.FailedRate, digest.Share, digest.ShareMargin)
			t.row[len(t.row)-1].tone = failed
		}
		t.float("requests", "rate", c.Throughput, digest.Rate, digest.RateMargin)
		t.duration("latency", "p50", c.Latency.P50, slow)
		t.duration("latency", "p99", c.Latency.P99, slow)
		t.text("latency", "", share, bad)
		t.duration("wait", "mean", c.Wait.Mean, slow)
		t.duration("wait", "p99", c.Wait.P99, slow)
		t.figure("server", "refused", digest.Count(c.Server.Refused), plain)
		for _, figure := range s.Figures {
			text, tone := versusText(z, figure)
			t.figure("against "+useWord(s), figure, text, tone)
		}
		t.end()
	}
	t.drop("refused", "0")
	t.drop("", "")
	for _, figure := range s.Figures {
		t.drop(figure, "", "=")
	}
	return t
}

func useWord(s *record.Sizing) string {
	if s.Use == nil {
		return ""
	}
	return strconv.Itoa(*s.Use)
}

// relationWord says what a size is.
func relationWord(z *record.Sized) (string, tone) {
	switch z.Relation {
	case record.SizeUsed:
		return "use", good
	case record.SizeMisses:
		return "misses a check", bad
	case record.SizeUndecided:
		return "too close to call", doubtful
	case record.SizeRefused:
		return "refused", bad
	case record.SizeAlike:
		return "alike", good
	case record.SizeUnsettled:
		return "alike?", doubtful
	}
	return string(z.Relation), plain
}

// versusText says how a figure of a size stands to that of the size to use.
func versusText(z *record.Sized, figure string) (string, tone) {
	for _, v := range z.Versus {
		if v.Figure != figure {
			continue
		}
		change := digest.Dash
		if f, err := record.ParseFigure(figure); err == nil && v.Difference.Known {
			change = digest.Difference(v.Difference.Value, f.Unit())
		}
		if v.Relative.Known {
			change = digest.Change(v.Relative.Value)
		}
		switch v.Verdict {
		case record.ZoneWithin:
			return "=", faint
		case record.ZoneBetter:
			return change, good
		case record.ZoneWorse:
			return change, bad
		case record.ZoneEdge:
			return change + "?", doubtful
		}
		return digest.Dash, faint
	}
	return "", plain
}

// sizeChecks has a row for each check of the size to use, of its neighbours that miss one, and of those that are too close to call.
func sizeChecks(s *record.Sizing) *table {
	t := &table{title: "Checks"}
	for i := range s.Sizes {
		z := &s.Sizes[i]
		show := z.Relation == record.SizeUsed || slices.Contains(s.Undecided, z.Size)
		for _, m := range []*record.Miss{s.Below, s.Above, s.Closest} {
			show = show || m != nil && m.Size == z.Size
		}
		if !show {
			continue
		}
		for j, k := range z.Checks {
			size := ""
			if j == 0 {
				size = strconv.Itoa(z.Size)
			}
			t.figure("", digest.Printable(s.Key), size, strong)
			t.text("", "verdict", statusWords(k), statusTone(k.Status))
			t.text("", "check", digest.Printable(k.Expr), plain)
			t.text("", "measured", measured([]record.Check{k}), plain)
			t.end()
		}
	}
	t.key = 1
	return t
}

func sizeWarnings(s *record.Sizing) []string {
	all := slices.Clone(s.Warnings)
	return append(all, warnings(s.Result())...)
}

// sizeNotes explain how the sizes were chosen, what is promised, and what stands in the tables.
func sizeNotes(s *record.Sizing) []string {
	all := []string{s.Search.Why}
	has := func(r record.SizeRelation) bool {
		return slices.ContainsFunc(s.Sizes, func(z record.Sized) bool { return z.Relation == r })
	}
	level := percent(s.Confidence.Level)
	switch {
	case s.Use == nil && s.Basis == record.ByKnee:
	case s.Basis == record.ByChecks:
		all = append(all, fmt.Sprintf("All verdicts on checks hold together with a confidence of %s, and so do all comparisons: "+
			"the intervals of checks miss with a chance of %s each, those of comparisons with %s.", level, chance(s.Confidence.Checks), chance(s.Confidence.Comparisons)))
	default:
		all = append(all, fmt.Sprintf("All comparisons hold together with a confidence of %s: their intervals miss with a chance of %s each. "+
			"The knee goes by the means: the smallest size with a throughput within %s of the best, and a p(99) within that of the lowest with it.",
			level, chance(s.Confidence.Comparisons), percent(s.Indifference)))
	}
	if s.Guard != "" {
		why := "no size is to look good because few requests are served"
		if s.Guard == "deadlocks<=0" {
			why = "there are deadlocks, and the scenario has no check"
		}
		all = append(all, s.Guard+" was added by the search: "+why+".")
	}
	if s.Use != nil && len(s.Sizes) > 1 {
		note := fmt.Sprintf("=: within %s of the figure at %d", percent(s.Indifference), *s.Use)
		if has(record.SizeUnsettled) {
			note += "; ?: not shown to be, nor not to be; alike?: as far as the replications tell"
		}
		all = append(all, note+".")
	}
	if slices.ContainsFunc(s.Sizes, func(z record.Sized) bool { return z.Cell.Requests.Failed > 0 }) {
		all = append(all, "(of … ok): latency and wait are of what succeeded only; compare them with care where requests fail.")
	}
	if slices.ContainsFunc(s.Sizes, func(z record.Sized) bool { return z.Cell.Replications > 1 }) {
		all = append(all, "±: half of the 95 % interval of one figure across the replications.")
	}
	if s.USL != nil && s.USL.Fitted {
		all = append(all, fmt.Sprintf("The server of the scenario has sigma %v and kappa %v; those of the curve differ where there is more to a request than queries.", s.USL.Set[0], s.USL.Set[1]))
	}
	return all
}

// chance writes a small probability.
func chance(p float64) string { return strconv.FormatFloat(p*100, 'g', 2, 64) + " %" }
