package main

import (
	"context"

	"github.com/stoatdb/stoat/internal/commands/cmdline"
)

// action is what a command does.
type action = func(ctx context.Context, s *stdio, args []string) error

// command is one subcommand.
type command = cmdline.Command[action]

// commands returns all commands in the order in which help lists them.
func commands() []*command {
	return []*command{
		deviceCommand(), createCommand(), joinCommand(), grantCommand(), revokeCommand(),
		endorseCommand(), grantsCommand(),
		serveCommand(), syncCommand(), exportCommand(), importCommand(),
		statusCommand(), headsCommand(), logCommand(), graphCommand(),
		whyCommand(), conflictsCommand(), voidCommand(), adoptCommand(), revertCommand(),
		verifyCommand(), checkpointCommand(), pruneCommand(),
		helpCommand(),
	}
}

// newProgram returns the command line of all commands.
func newProgram() *cmdline.Program[action] {
	return &cmdline.Program[action]{
		Name:     "stoat replica",
		Commands: commands,
		Intro: `A space is collections of records that devices share: each changes its replica
offline, and what they wrote comes together when they meet.`,
		Outro: `DB is the directory of a database. Commands that only read can run while another
process has it open. A database with one space needs no -space. In arguments,
the first digits of a log's id are enough.

"stoat replica help COMMAND" says more. Exit codes: 0 success, 1 error, 2 wrong
arguments, 3 not found, 4 damaged, 130 interrupted.`,
	}
}

func helpCommand() *command {
	return &command{
		Name: "help", Arguments: "[COMMAND]", Summary: "list the commands, or explain one", Max: 1,
		Flags: cmdline.NewFlags(),
		Run: func(_ context.Context, s *stdio, args []string) error {
			return newProgram().Help(s.out, args)
		},
	}
}
