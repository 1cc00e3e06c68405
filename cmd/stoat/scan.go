package main

import (
	"fmt"

	"github.com/stoatdb/stoat/internal/commands/cmdline"
)

func scanCommand() *command {
	flags := cmdline.NewFlags()
	c := selectionFlags(flags)
	return &command{
		Name:      "scan",
		Arguments: "DB",
		Summary:   "print keys and values, in the order of the keys",
		Details: "Each line is a key, a tab and a value.\n" +
			fmt.Sprintf(selectionHelp, `{"bucket":["a","b"],"key":"text","value":"text"}`),
		Min: 1, Max: 1,
		Flags: flags,
		Run:   func(s *stdio, args []string) error { return c.scan(s, args[0]) },
	}
}
