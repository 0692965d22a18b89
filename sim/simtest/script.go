package simtest

import (
	"strings"
	"time"

	"poolwise/sim"
)

// Script gives the commands of a conversation: each line in an event of its own to the conversation, an actor that hands all its
// events to Handle first.
type Script struct {
	Sim     *sim.Sim
	To      sim.ActorID // the conversation
	Command func(command string)
	lines   []string // those given, by the A of their events
}

// planned is the kind of the events of a Script: A is the line.
const planned sim.Kind = -1

// Do does one line, and reports a time that cannot be read. The line is one of
//
//	COMMAND ; COMMAND ...        all in one event, now; then what else is due now
//	after D COMMAND ; COMMAND    after that time, if the clock comes there
//	at T COMMAND ; COMMAND       at that time, the same
//	run D                        lets time pass
//	to T                         lets it pass until then
//	drain                        lets it pass until nothing is left to do
func (s *Script) Do(line string) error {
	line = strings.TrimSpace(line)
	word, rest, _ := strings.Cut(line, " ")
	text, commands, _ := strings.Cut(rest, " ")
	var d time.Duration
	switch word {
	case "after", "at", "run", "to":
		var err error
		if d, err = time.ParseDuration(text); err != nil {
			return err
		}
	}
	until := s.Sim.Now()
	switch word {
	case "after":
		s.plan(until.Add(d), commands)
	case "at":
		s.plan(sim.Time(d), commands)
		return nil
	case "run":
		until = until.Add(d)
	case "to":
		until = sim.Time(d)
	case "drain":
		until = sim.Forever
	default:
		s.plan(until, line)
	}
	s.Sim.Run(until)
	return nil
}

func (s *Script) plan(t sim.Time, commands string) {
	s.Sim.At(t, sim.Event{To: s.To, Kind: planned, A: int32(len(s.lines))})
	s.lines = append(s.lines, commands)
}

// Handle gives the commands of an event of the script, and reports whether it is one.
func (s *Script) Handle(ev sim.Event) bool {
	if ev.Kind != planned {
		return false
	}
	for command := range strings.SplitSeq(s.lines[ev.A], ";") {
		s.Command(strings.TrimSpace(command))
	}
	return true
}
