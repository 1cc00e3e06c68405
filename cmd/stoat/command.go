package main

import (
	"slices"

	"github.com/stoatdb/stoat/internal/commands/cmdline"
)

// action is what a command does.
type action = func(s *stdio, args []string) error

// command is one subcommand.
type command = cmdline.Command[action]

// commands returns all commands in the order in which help lists them.
func commands() []*command {
	return slices.Concat(
		keyed(
			getCommand(), putCommand(), delCommand(), ttlCommand(),
			scanCommand(), keysCommand(), bucketsCommand(), statsCommand(),
			dumpCommand(), loadCommand(), bulkLoadCommand(), importCommand(), exportCommand(),
			compactCommand(), recordCommand(), checkCommand(), backupCommand(), restoreCommand(),
			rekeyCommand(), salvageCommand(), shellCommand(), studioCommand(),
		),
		[]*command{
			dumpFileCommand(), replicaCommand(), remoteCommand(),
			tourCommand(), tourWriterCommand(), commandListCommand(),
			helpCommand(), versionCommand(),
		},
	)
}

// newProgram returns the command line of all commands.
func newProgram() *cmdline.Program[action] {
	return &cmdline.Program[action]{
		Name:     "stoat",
		Commands: commands,
		Intro:    "Stoat is an embedded key-value database; this is its command line.",
		Outro: `DB is the directory of a database. Commands that only read do not change it, and
can run while another process has it open; they see the state at their start.

"stoat help COMMAND" says more. Exit codes: 0 success, 1 error, 2 wrong
arguments, 3 key not found, 4 database damaged, 130 interrupted.`,
	}
}
