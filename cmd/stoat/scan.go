package main

import "fmt"

func scanCommand() *command {
	flags := newFlags()
	c := selectionFlags(flags)
	return &command{
		name:      "scan",
		arguments: "DB",
		summary:   "print keys and values, in the order of the keys",
		details: "Each line is a key, a tab and a value.\n" +
			fmt.Sprintf(selectionHelp, `{"bucket":["a","b"],"key":"text","value":"text"}`),
		min: 1, max: 1,
		flags: flags,
		run:   func(s *stdio, args []string) error { return c.scan(s, args[0]) },
	}
}
