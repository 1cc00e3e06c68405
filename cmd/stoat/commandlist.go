package main

import (
	"encoding/json"
	"flag"

	"github.com/stoatdb/stoat/internal/commands/cmdline"
)

// listedCommand is a command in the form that programs need to complete command lines.
type listedCommand struct {
	Name      string       `json:"name"`
	Arguments string       `json:"arguments"`
	Summary   string       `json:"summary"`
	Flags     []listedFlag `json:"flags"`
}

// listedFlag is one flag of a command.
type listedFlag struct {
	Name   string `json:"name"`
	Switch bool   `json:"switch"` // it takes no value
}

func commandListCommand() *command {
	return &command{
		Name:    "commands",
		Summary: "print the commands and their flags as JSON",
		Hidden:  true,
		Flags:   cmdline.NewFlags(),
		Run: func(s *stdio, _ []string) error {
			all := []listedCommand{}
			for _, c := range commands() {
				if !c.Hidden {
					all = append(all, listCommand(c))
				}
			}
			return json.NewEncoder(s.out).Encode(all)
		},
	}
}

func listCommand(c *command) listedCommand {
	l := listedCommand{c.Name, c.Arguments, c.Summary, []listedFlag{}}
	c.Flags.VisitAll(func(f *flag.Flag) {
		l.Flags = append(l.Flags, listedFlag{f.Name, !c.TakesValue("-" + f.Name)})
	})
	return l
}
