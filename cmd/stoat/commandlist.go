package main

import (
	"encoding/json"
	"flag"
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
		name:    "commands",
		summary: "print the commands and their flags as JSON",
		hidden:  true,
		flags:   newFlags(),
		run: func(s *stdio, _ []string) error {
			all := []listedCommand{}
			for _, c := range commands() {
				if !c.hidden {
					all = append(all, listCommand(c))
				}
			}
			return json.NewEncoder(s.out).Encode(all)
		},
	}
}

func listCommand(c *command) listedCommand {
	l := listedCommand{c.name, c.arguments, c.summary, []listedFlag{}}
	c.flags.VisitAll(func(f *flag.Flag) {
		l.Flags = append(l.Flags, listedFlag{f.Name, !c.takesNext("-" + f.Name)})
	})
	return l
}
