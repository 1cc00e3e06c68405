package main

import (
	"fmt"
	"os"

	"github.com/stoatdb/stoat/internal/commands/cmdline"
)

// shellProgram is the shell, which needs a line editor. It is immutable.
var shellProgram = program{"stoat-shell", "shell"}

func shellCommand() *command {
	flags := cmdline.NewFlags()
	flags.String("history", "", "keep earlier lines in `FILE`; empty: keep none")
	return &command{
		Name:      "shell",
		Arguments: "DB",
		Summary:   "a prompt for these commands, with completion",
		Details: `
Each line is one of these commands, without the database. Tab completes
commands, flags, buckets and keys, the arrow keys recall earlier lines, and
"cd PATH" enters a bucket, which the commands then use. Between lines nothing is
locked. Without -history, earlier lines are kept in the cache directory. If
input comes from a pipe or a file, the first line that fails ends the shell with
its exit code.

It needs the program stoat-shell; if that is missing, the error says how to get
it.`,
		Min: 1, Max: 1,
		Flags: flags,
		Run: func(s *stdio, args []string) error {
			self, err := os.Executable()
			if err != nil {
				return fmt.Errorf("find this program: %w", err)
			}
			with := append([]string{"-stoat=" + self}, given(flags)...)
			return shellProgram.run(s, append(with, "--", args[0]))
		},
	}
}
