package main

import "github.com/stoatdb/stoat/internal/commands/cmdline"

func helpCommand() *command {
	return &command{
		Name:      "help",
		Arguments: "[COMMAND]",
		Summary:   "list the commands, or explain one",
		Max:       1,
		Flags:     cmdline.NewFlags(),
		Run: func(s *stdio, args []string) error {
			return newProgram().Help(s.out, args)
		},
	}
}
