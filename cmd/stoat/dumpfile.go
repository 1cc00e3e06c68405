package main

import (
	"fmt"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/commands/cmdline"
	"github.com/stoatdb/stoat/internal/tools/inspect"
)

func dumpFileCommand() *command {
	flags := cmdline.NewFlags()
	var o inspect.Options
	flags.BoolVar(&o.JSON, "json", false, "print JSON, one object a line")
	flags.BoolVar(&o.Blocks, "blocks", false, "print the entries of blocks and of the log's frames")
	return &command{
		Name:      "dump-file",
		Arguments: "FILE",
		Summary:   "print the contents of one database file, damaged or not",
		Details: `
FILE is a manifest or its copy, a log segment, a table, a value file, or LOCK;
its first bytes decide which, not its name. Each item is printed after its
offset in the file. Damage is shown where it is, followed by what can be read
behind it, and the exit code is 4. Nothing is changed.

Keys of buckets are decoded: "k" is a key in the root bucket, and "k" in bucket
3 is one in the bucket with that id, whose catalog entry shows its name.`,
		Min: 1, Max: 1,
		Flags: flags,
		Run:   func(s *stdio, args []string) error { return dumpOneFile(s, args[0], o) },
	}
}

func dumpOneFile(s *stdio, path string, o inspect.Options) error {
	damage, err := inspect.File(s.out, path, o)
	if err != nil {
		return err
	}
	if damage > 0 {
		return fmt.Errorf("%s is damaged, see \"stoat check\": %w", path, stoat.ErrCorrupt)
	}
	return nil
}
