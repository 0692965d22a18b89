package main

import (
	"cmp"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/spf13/cobra"

	"poolwise/pool/models"
	"poolwise/scenarios"
	"poolwise/sim/wording"
)

func newCompletion() *cobra.Command {
	shells := []string{"bash", "zsh", "fish"}
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print a completion script for bash, zsh or fish",
		Long: `Print a script with which a shell (bash, zsh or fish) completes commands, flags, the names of built-in
scenarios, scenario files, the names of models and the paths of --set and --over.`,
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

// completePath completes the path of a --set or --over. The options of pools are known if the FILE is.
func completePath(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	const how = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	if strings.Contains(begun, "=") {
		return nil, how
	}
	var all []string
	add := func(path, doc string) {
		if strings.HasPrefix(path, begun) {
			all = append(all, path+"=\t"+doc)
		}
	}
	add("pool.model", "name of a pool model")
	eachField(reflect.ValueOf(poolOptions(cmd, args)), "pool.", func(path string, f reflect.StructField, _ reflect.Value) {
		add(path, f.Tag.Get("doc"))
	})
	eachField(reflect.ValueOf(scenarios.Scenario{}), "", func(path string, f reflect.StructField, _ reflect.Value) {
		if path != "pool" && !strings.HasPrefix(path, "sweep") {
			add(path, f.Tag.Get("doc"))
		}
	})
	return all, how
}

// poolOptions returns the options of the pool of the scenario that is being completed; those of no pool if it has none.
func poolOptions(cmd *cobra.Command, args []string) any {
	none := struct{}{}
	if len(args) == 0 || args[0] == "-" {
		return none
	}
	src, err := readSource(args[0], cmd.InOrStdin())
	if err != nil {
		return none
	}
	s, err := scenarios.Decode(src.name, src.text, scenarios.Options{Open: src.open})
	if err != nil || s.Pool == nil {
		return none
	}
	return s.Pool.Options
}
