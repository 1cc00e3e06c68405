package main

import (
	"context"
	"slices"

	"github.com/stoatdb/stoat/internal/commands/cmdline"
)

// action is what a command does.
type action = func(ctx context.Context, s *stdio, args []string) error

// command is one subcommand.
type command = cmdline.Command[action]

// commands returns all commands in the order in which help lists them.
func commands() []*command {
	return slices.Concat([]*command{probeCommand()},
		keyed(initCommand(), statusCommand()),
		keyed(cloned(
			restoreCommand(), verifyCommand(), readerCommand(), standbyCommand(), getCommand(),
			scanCommand(), cloneCommand(), detachCommand(),
		)...),
		keyed(pinCommand(), unpinCommand(), pinsCommand()),
		keyed(cloned(gcCommand())...),
		keyed(rekeyCommand()),
		[]*command{helpCommand()},
	)
}

// newProgram returns the command line of all commands.
func newProgram() *cmdline.Program[action] {
	return &cmdline.Program[action]{
		Name:     "stoat remote",
		Commands: commands,
		Intro: `A database in object storage is shipped there by the program that writes it, and
is restored from there, or read, anywhere.`,
		Outro: `DIR is the directory of a database. STORE is a folder, or s3://BUCKET/PREFIX in
a bucket. In the place of what the environment says (AWS_ENDPOINT_URL,
AWS_REGION), a store can name its server: s3://b/p?endpoint=HOST:PORT, with
&region=NAME, and &insecure=true for HTTP. Credentials come from the environment
(AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY), the usual files, or the machine.

With -key-file, the store is encrypted before anything leaves this machine, and
so is DIR, unless -plain says otherwise. Without the key, nobody can read it.

Only init, gc, detach and standby become the writer of the database; all others
leave it alone.

"stoat remote help COMMAND" says more. Exit codes: 0 success, 1 error, 2 wrong
arguments, 3 not found, 4 damaged or unfit, 130 interrupted.`,
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
