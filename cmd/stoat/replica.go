package main

// replicaProgram works with the spaces of package replica, which is another module. It is
// immutable.
var replicaProgram = program{
	"stoat-replica", "go install github.com/stoatdb/stoat/replica/cmd/stoat-replica@latest",
}

func replicaCommand() *command {
	return &command{
		name:      "replica",
		arguments: "[COMMAND ...]",
		summary:   "create, sync and inspect collections that devices share",
		details: `
"stoat replica help" lists the commands.

It needs the program stoat-replica; if that is missing, the error says how to
get it.`,
		max:   unlimited,
		flags: newFlags(),
		whole: true,
		run: func(s *stdio, args []string) error {
			return replicaProgram.run(s, args)
		},
	}
}
