package main

import (
	"fmt"

	"github.com/stoatdb/stoat/internal/commands/cmdline"
)

func keysCommand() *command {
	flags := cmdline.NewFlags()
	c := selectionFlags(flags)
	return &command{
		Name:      "keys",
		Arguments: "DB",
		Summary:   "print keys, in order, without reading a value",
		Details: "Each line is a key.\n" +
			fmt.Sprintf(selectionHelp, `{"bucket":["a","b"],"key":"text"}`),
		Min: 1, Max: 1,
		Flags: flags,
		Run:   func(s *stdio, args []string) error { return c.keys(s, args[0]) },
	}
}
