package main

import "fmt"

func keysCommand() *command {
	flags := newFlags()
	c := selectionFlags(flags)
	return &command{
		name:      "keys",
		arguments: "DB",
		summary:   "print keys, in order, without reading a value",
		details: "Each line is a key.\n" +
			fmt.Sprintf(selectionHelp, `{"bucket":["a","b"],"key":"text"}`),
		min: 1, max: 1,
		flags: flags,
		run:   func(s *stdio, args []string) error { return c.keys(s, args[0]) },
	}
}
