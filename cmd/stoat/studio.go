package main

import "github.com/stoatdb/stoat/internal/commands/cmdline"

// studioProgram shows a database in the browser. It is immutable.
var studioProgram = program{"stoat-studio", "studio"}

func studioCommand() *command {
	flags := cmdline.NewFlags()
	flags.Bool("write", false, "let the page put and delete keys")
	flags.String("listen", "", "the loopback `ADDRESS` to listen at, instead of any free port")
	return &command{
		Name:      "studio",
		Arguments: "DB",
		Summary:   "look at a database in the browser",
		Details: `
It prints an address to open in a browser on this machine, which works once;
each press of Enter prints a new one. An interrupt ends it. Without -write, it
changes nothing, and shows what other processes write about a second later; with
it, no other process can write.

It needs the program stoat-studio; if that is missing, the error says how to
get it.`,
		Min: 1, Max: 1,
		Flags: flags,
		Run: func(s *stdio, args []string) error {
			return studioProgram.run(s, append(given(flags), "--", args[0]))
		},
	}
}
