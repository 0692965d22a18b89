// Poolwise predicts how a connection pool behaves before production finds out.
//
// Data goes to stdout, messages and progress to stderr. The exit status is the lowest of these that applies: 0 done and all
// checks passed; 1 an error (usage, scenario, files, an interruption); 2 a check failed or had nothing to measure; 3 warnings,
// with --fail-on-warn; 4 a check is inconclusive.
package main

import "os"

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
