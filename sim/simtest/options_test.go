package simtest

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

type options struct {
	Limit int             `yaml:"limit"`
	After time.Duration   `yaml:"after"`
	Share float64         `yaml:"share"`
	On    bool            `yaml:"on"`
	Off   bool            `yaml:"off"`
	Name  string          `yaml:"name"`
	Color color           `yaml:"color"`
	Idle  *time.Duration  `yaml:"idle"`
	Age   *time.Duration  `yaml:"age"`
	Plan  []time.Duration `yaml:"plan"`
	Deep  deep            `yaml:"deep"`
	Far   *deep           `yaml:"far"`
	Empty *deep           `yaml:"empty"`
	Walls []deep          `yaml:"walls"`
	Other string
}

type deep struct {
	Limit int `yaml:"limit"`
}

type color int

func (c *color) UnmarshalText(text []byte) error {
	if string(text) != "red" {
		return fmt.Errorf("want red, have %q", text)
	}
	*c = 1
	return nil
}

func TestSet(t *testing.T) {
	second := time.Second
	got := options{Off: true, Age: &second, Plan: []time.Duration{9}}
	line := "limit=3 after=2ms share=0.5 on off=false name=app color=red idle=1s age=none deep.limit=4 far.limit=5 empty"
	if err := SetAll(&got, line); err != nil {
		t.Fatal(err)
	}
	if known, err := Set(&got, "plan", "1ms", "2ms"); !known || err != nil {
		t.Fatal(known, err)
	}
	want := options{
		Limit: 3, After: 2 * time.Millisecond, Share: 0.5, On: true, Name: "app", Color: 1, Idle: &second,
		Plan: []time.Duration{time.Millisecond, 2 * time.Millisecond}, Deep: deep{4}, Far: &deep{5}, Empty: &deep{},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestSetLines(t *testing.T) {
	var got options
	if err := SetLines(&got, "wall limit=1\nlimit=3 on\n  wall\nname=app\n"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(options{Limit: 3, On: true, Name: "app", Walls: []deep{{1}, {}}}, got); diff != "" {
		t.Error(diff)
	}
	for lines, want := range map[string]string{
		"limit=3\nwall height=2\n": "wall height=2: there is no height",
		"wal limit=1":              "wal limit=1: there is no wal",
	} {
		if err := SetLines(&options{}, lines); err == nil || err.Error() != want {
			t.Errorf("%s: have %v, want %s", lines, err, want)
		}
	}
}

func TestMistakes(t *testing.T) {
	for line, want := range map[string]string{
		"limits=3":       "there is no limits",
		"Other=3":        "there is no Other",
		"=3":             "there is no ",
		"deep.limits=3":  "there is no deep.limits",
		"limit.deep=3":   "there is no limit.deep",
		"limit":          "limit: want one value, have 0",
		"deep.limit=two": `deep.limit: strconv.Atoi: parsing "two": invalid syntax`,
		"color=blue":     `color: want red, have "blue"`,
		"idle=1":         `idle: time: missing unit in duration "1"`,
		"plan=1":         `plan: time: missing unit in duration "1"`,
		"deep=3":         "deep: a simtest.deep is not a word",
	} {
		if err := SetAll(&options{}, line); err == nil || err.Error() != want {
			t.Errorf("%s: have %v, want %s", line, err, want)
		}
	}
}
