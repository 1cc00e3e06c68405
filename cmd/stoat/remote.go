package main

import "github.com/stoatdb/stoat/internal/commands/cmdline"

// remoteProgram works with databases in object storage, for which it needs a client library. It is
// immutable.
var remoteProgram = program{"stoat-remote", "remote/s3"}

func remoteCommand() *command {
	return &command{
		Name:      "remote",
		Arguments: "[COMMAND ...]",
		Summary:   "ship databases to object storage, restore and inspect them",
		Details: `
"stoat remote help" lists the commands.

It needs the program stoat-remote; if that is missing, the error says how to
get it.`,
		Max:   cmdline.Unlimited,
		Flags: cmdline.NewFlags(),
		Whole: true,
		Run: func(s *stdio, args []string) error {
			return remoteProgram.run(s, args)
		},
	}
}
