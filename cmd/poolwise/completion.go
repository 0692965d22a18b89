package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"poolwise/pool/models"
	"poolwise/scenarios"
	"poolwise/sim/record"
	"poolwise/sim/wording"
	"poolwise/workload"
)

func newCompletion() *cobra.Command {
	shells := []string{"bash", "zsh", "fish"}
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print a completion script for bash, zsh or fish",
		Long: `Print a script with which a shell (bash, zsh or fish) completes commands, flags, the names of built-in
scenarios, scenario files, the names of models, the paths of --set and --over, the
settings of --only and the metrics of --check.`,
		Example: `  source <(poolwise completion bash)
  poolwise completion zsh > "${fpath[1]}/_poolwise"
  poolwise completion fish > ~/.config/fish/completions/poolwise.fish`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("want one SHELL: bash, zsh or fish")
			}
			return nil
		},
		ValidArgsFunction: cobra.FixedCompletions(shells, cobra.ShellCompDirectiveNoFileComp),
		RunE: func(cmd *cobra.Command, args []string) error {
			root, w := cmd.Root(), cmd.OutOrStdout()
			switch args[0] {
			case "bash":
				if err := writeAll(w, []byte(bashWords)); err != nil {
					return err
				}
				return root.GenBashCompletionV2(w, true)
			case "zsh":
				return root.GenZshCompletion(w)
			case "fish":
				return root.GenFishCompletion(w, true)
			}
			return usagef("there is no completion for %q; want %s", args[0], wording.Or(shells))
		},
	}
}

// bashWords is what the script for bash needs of the package bash-completion, where that is not installed: the words of the command
// line up to the one that is completed, joined again where bash breaks them at = and :.
const bashWords = `if ! declare -F _get_comp_words_by_ref >/dev/null 2>&1; then
    _get_comp_words_by_ref()
    {
        local i word last rest="$COMP_LINE" trimmed
        words=()
        for ((i = 0; i <= COMP_CWORD; i++)); do
            word="${COMP_WORDS[i]}"
            trimmed="${rest#"${rest%%[![:space:]]*}"}"
            last=$((${#words[@]} - 1))
            if [[ $i -gt 0 && "$trimmed" == "$rest" && ( "$word" == [=:]* || "${words[last]}" == *[=:] ) ]]; then
                words[last]+="$word"
            else
                words+=("$word")
            fi
            rest="${trimmed#"$word"}"
        done
        cword=$((${#words[@]} - 1))
        cur="${words[cword]}"
        prev=""
        if [[ $cword -gt 0 ]]; then
            prev="${words[cword - 1]}"
        fi
    }
fi

`

// completeFile completes a FILE: scenario files and folders, and the names of built-in scenarios.
func completeFile(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	most := map[string]int{"check": len(args) + 1, "compare": 2}[cmd.Name()]
	if len(args) >= max(most, 1) {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	all, directive := completeBuiltin(cmd, nil, begun)
	folder, _ := filepath.Split(begun)
	entries, _ := os.ReadDir(cmp.Or(folder, ".")) // what cannot be read cannot be completed
	for _, e := range entries {
		name := folder + e.Name()
		ext := filepath.Ext(name)
		switch {
		case !strings.HasPrefix(name, begun) || strings.HasPrefix(e.Name(), "."):
		case e.IsDir():
			all = append(all, name+"/")
			directive |= cobra.ShellCompDirectiveNoSpace
		case isYAML(ext) || ext == ".json" && cmd.Name() == "compare":
			all = append(all, name)
		}
	}
	return all, directive
}

// completeBuiltin completes the NAME of a built-in scenario.
func completeBuiltin(_ *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	var all []string
	for _, s := range scenarios.List() {
		if len(args) == 0 && strings.HasPrefix(s.Name, begun) {
			all = append(all, s.Name+"\t"+s.About)
		}
	}
	return all, cobra.ShellCompDirectiveNoFileComp
}

// completeModel completes the NAME of a model.
func completeModel(_ *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	var all []string
	for _, m := range models.Table {
		if len(args) == 0 && strings.HasPrefix(m.Name, begun) {
			all = append(all, m.Name+"\t"+m.Models)
		}
	}
	return all, cobra.ShellCompDirectiveNoFileComp
}

// completePath completes the path of a --set or --over, and the word of pool.model. The services, steps and options of pools are
// known if the FILE is.
func completePath(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	const how = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	var all []string
	if path, _, ok := strings.Cut(begun, "="); ok {
		for _, name := range modelNames() {
			if word := path + "=" + name; strings.HasSuffix(path, "pool.model") && strings.HasPrefix(word, begun) {
				all = append(all, word)
			}
		}
		return all, how
	}
	known := knownScenario(cmd, args)
	eachPath(reflect.ValueOf(known), "", func(path, doc string) {
		if strings.HasPrefix(path, begun) && !strings.HasPrefix(path, "sweep") {
			all = append(all, path+"=\t"+doc)
		}
	})
	return all, how
}

// completeOnly completes the axes of the scenario's sweep and their values, the last of several.
func completeOnly(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	const how = cobra.ShellCompDirectiveNoFileComp
	var all []string
	for _, axis := range knownScenario(cmd, args).Sweep {
		values, ok := strings.CutPrefix(begun, axis.Name+"=")
		switch {
		case !ok && strings.HasPrefix(axis.Name, begun):
			return append(all, axis.Name+"="), how | cobra.ShellCompDirectiveNoSpace
		case !ok:
			continue
		}
		before := begun[:len(begun)-len(values)+strings.LastIndex(values, ",")+1]
		for _, p := range axis.Points {
			for _, stem := range []string{axis.Name + "=", before} { // a label may have commas
				if word := stem + p.Label; strings.HasPrefix(word, begun) && !slices.Contains(all, word) {
					all = append(all, word)
				}
			}
		}
	}
	return all, how
}

// knownScenario returns the scenario that is being completed; if it is not known, or has mistakes, one without anything.
func knownScenario(cmd *cobra.Command, args []string) *scenarios.Scenario {
	if len(args) == 0 || args[0] == "-" {
		return &scenarios.Scenario{}
	}
	src, err := readSource(args[0], cmd.InOrStdin())
	if err != nil {
		return &scenarios.Scenario{}
	}
	s, err := scenarios.Decode(src.name, src.text, scenarios.Options{Open: src.open})
	if err != nil {
		return &scenarios.Scenario{}
	}
	return s
}

// eachPath calls f for every path that can be set in a scenario: those of fields, of the items of lists, and of the options of
// pools.
func eachPath(v reflect.Value, prefix string, f func(path, doc string)) {
	eachField(v, prefix, func(path string, field reflect.StructField, v reflect.Value) {
		switch x := v.Interface().(type) {
		case *scenarios.Pool:
			f(path, field.Tag.Get("doc"))
			f(path+".model", "name of a pool model")
			if x != nil {
				eachPath(reflect.ValueOf(x.Options), path+".", f)
			}
			return
		}
		f(path, field.Tag.Get("doc"))
		if v.Kind() != reflect.Slice || !opensUp(v.Type().Elem()) {
			return
		}
		_, steps := v.Interface().([]workload.Step)
		for i := range v.Len() {
			item := fmt.Sprintf("%s[%d]", path, i)
			if name := v.Index(i).FieldByName("Name"); name.IsValid() && name.Kind() == reflect.String && !strings.ContainsAny(name.String(), ".[]= ") && name.Len() > 0 {
				item = path + "." + name.String()
			}
			if steps {
				eachSet(v.Index(i), item+".", f)
			} else {
				eachPath(v.Index(i), item+".", f)
			}
		}
	})
}

// eachSet calls f for the paths of a step that are set in the scenario, and for its chance.
func eachSet(v reflect.Value, prefix string, f func(path, doc string)) {
	eachField(v, prefix, func(path string, field reflect.StructField, v reflect.Value) {
		if !v.IsZero() || path == prefix+"chance" {
			f(path, field.Tag.Get("doc"))
		}
	})
}

// completeCheck completes the EXPR of a --check: the metrics, perhaps after a level.
func completeCheck(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
	level := ""
	if strings.HasPrefix(begun, "warn:") {
		level = "warn:"
	}
	var all []string
	for _, m := range record.Metrics() {
		if word := level + m.Name; strings.HasPrefix(word, begun) {
			all = append(all, word+"\t"+m.Doc)
		}
	}
	return all, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}
