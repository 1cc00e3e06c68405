package main

import (
	"flag"

	"github.com/stoatdb/stoat/internal/commands/cmdline"
)

// importProgram imports from sources that need another library. It is immutable.
var importProgram = program{
	"stoat-import", "go install github.com/stoatdb/stoat/importer/cmd/stoat-import@latest",
}

// importElsewhere has stoat-import do it.
func importElsewhere(s *stdio, flags *flag.FlagSet, o *importFlags, db string) error {
	if _, _, err := o.source(); err != nil {
		return err
	}
	if s.key != nil {
		return cmdline.Usagef("-%s does not work with this source: import into a database that is not "+
			"encrypted, and load its dump into one that is", keyFileFlag)
	}
	var args []string
	flags.Visit(func(f *flag.Flag) { args = append(args, "-"+f.Name+"="+f.Value.String()) })
	return importProgram.run(s, append(args, "--", db))
}
