package main

import "fmt"

func helpCommand() *command {
	return &command{
		name:      "help",
		arguments: "[COMMAND]",
		summary:   "list the commands, or explain one",
		max:       1,
		flags:     newFlags(),
		run: func(s *stdio, args []string) error {
			if len(args) == 0 {
				overview(s)
				return nil
			}
			c := lookup(args[0])
			if c == nil {
				return usagef("there is no command %q", args[0])
			}
			c.help(s.out)
			return nil
		},
	}
}

// overview lists the commands.
func overview(s *stdio) {
	fmt.Fprint(s.out, "Stoat is an embedded key-value database; this is its command line.\n\n"+
		"usage: stoat COMMAND [flags] [arguments]\n\n")
	for _, c := range commands() {
		if !c.hidden {
			fmt.Fprintf(s.out, "  %-9s  %s\n", c.name, c.summary)
		}
	}
	fmt.Fprint(s.out, `
DB is the directory of a database. Commands that only read do not change it, and
can run while another process has it open; they see the state at their start.

"stoat help COMMAND" says more. Exit codes: 0 success, 1 error, 2 wrong
arguments, 3 key not found, 4 database damaged, 130 interrupted.
`)
}
