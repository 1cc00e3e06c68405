package main

import "flag"

// importProgram imports from sources that need another library. It is immutable.
var importProgram = program{"stoat-import", "importer"}

// importElsewhere has stoat-import do it.
func importElsewhere(s *stdio, flags *flag.FlagSet, o *importFlags, db string) error {
	if _, _, err := o.source(); err != nil {
		return err
	}
	return importProgram.run(s, append(given(flags), "--", db))
}
