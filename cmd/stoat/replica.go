package main

import "github.com/stoatdb/stoat/internal/commands/cmdline"

// replicaProgram works with the spaces of package replica, which is another module. It is
// immutable.
var replicaProgram = program{"stoat-replica", "replica"}

func replicaCommand() *command {
	return &command{
		Name:      "replica",
		Arguments: "[COMMAND ...]",
		Summary:   "create, sync and inspect collections that devices share",
		Details: `
"stoat replica help" lists the commands.

It needs the program stoat-replica; if that is missing, the error says how to
get it.`,
		Max:   cmdline.Unlimited,
		Flags: cmdline.NewFlags(),
		Whole: true,
		Run: func(s *stdio, args []string) error {
			return replicaProgram.run(s, args)
		},
	}
}
