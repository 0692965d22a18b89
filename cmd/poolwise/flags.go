package main

import (
	"errors"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"poolwise/sim/wording"
)

// choice is a flag that takes one of several words.
type choice struct {
	value string
	words []string
}

// String implements pflag.Value.
func (c *choice) String() string { return c.value }

// Type implements pflag.Value.
func (c *choice) Type() string { return "word" }

// Set implements pflag.Value.
func (c *choice) Set(s string) error {
	if !slices.Contains(c.words, s) {
		return errors.New("want " + wording.Or(c.words))
	}
	c.value = s
	return nil
}

// abbreviations are what some words of choices are called elsewhere.
var abbreviations = map[string]string{"md": "markdown", "txt": "text", "table": "text", "plain": "text", "xml": "junit", "tsv": "csv", "ndjson": "jsonl", "actions": "github"}

// meant is the rest of a message about a word that is none of the choice: which one was probably meant.
func (c *choice) meant(word string) string {
	if of := abbreviations[strings.ToLower(word)]; slices.Contains(c.words, of) {
		return ", did you mean " + of + "?"
	}
	if best, ok := wording.Nearest(word, c.words); ok {
		return ", did you mean " + best + "?"
	}
	return ""
}

// choose adds a flag that takes one of several words, the first by default.
func choose(cmd *cobra.Command, name, usage string, words ...string) *choice {
	c := &choice{value: words[0], words: words}
	cmd.Flags().Var(c, name, usage)
	complete(cmd, name, words...)
	return c
}

// complete says what the shell may complete the value of a flag with.
func complete(cmd *cobra.Command, flag string, words ...string) {
	must(cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)))
}

func must(err error) {
	if err != nil {
		panic("poolwise: " + err.Error())
	}
}

// destination is where data goes: standard output, or a file.
type destination struct {
	file  string
	width int
}

func (d *destination) add(f *pflag.FlagSet) {
	f.StringVarP(&d.file, "output", "o", "", "`FILE`: write to this file, whole or not at all; one that exists is replaced; default -, stdout")
}

func (d *destination) addWidth(f *pflag.FlagSet) {
	f.IntVar(&d.width, "width", 0, "`N`: columns of text; default 0, those of the terminal, 100 without one")
}

// columns returns the width for text.
func (d *destination) columns(stdout io.Writer) int {
	if d.width > 0 {
		return d.width
	}
	if f, ok := stdout.(*os.File); ok && d.toStdout() {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
			return w
		}
	}
	return 100
}

func (d *destination) toStdout() bool { return isStdout(d.file) }

func isStdout(file string) bool { return file == "" || file == "-" }

// check reports a mistake in the flags.
func (d *destination) check() error {
	if d.width < 0 {
		return usagef("--width: want at least 1, or 0 for that of the terminal, have %d", d.width)
	}
	return nil
}

// write writes what f writes.
func (d *destination) write(stdout io.Writer, f func(io.Writer) error) error {
	if d.toStdout() {
		return f(stdout)
	}
	var out outputs
	defer out.discard()
	if err := out.write(d.file, f); err != nil {
		return err
	}
	return out.commit()
}

func writeAll(w io.Writer, b []byte) error {
	_, err := w.Write(b)
	return err
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
