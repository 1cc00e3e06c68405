package main

import (
	"fmt"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/feed"
	"github.com/stoatdb/stoat/internal/commands/cmdline"
	records "github.com/stoatdb/stoat/record"
)

func recordCommand() *command {
	return &command{
		Name:      "record",
		Arguments: "reindex DB NAME...",
		Summary:   "repair collections and feeds after a salvage",
		Details: `
Rebuilds the indexes and the count of a collection of package record from its
records. In a feed of package feed, entries that are lost between others become
redacted, and the program that opens the feed rebuilds its sublogs. Each NAME is
done in one transaction.

Collections whose records are JSON or gob, and feeds of which a schema is lost,
need the program that has their type: it calls record.Reindex or feed.Reindex.
record.Open and feed.Open tell a program if there is something to repair.`,
		Min: 3, Max: cmdline.Unlimited,
		Flags: cmdline.NewFlags(),
		Run: func(s *stdio, args []string) error {
			if args[0] != "reindex" {
				return cmdline.Usagef("there is no \"stoat record %s\", but \"stoat record reindex\"", args[0])
			}
			return reindex(s, args[1], args[2:])
		},
	}
}

// reindex rebuilds whatever is derived from records and entries.
func reindex(s *stdio, dir string, names []string) error {
	// Opening for writing would create the database.
	if err := view(s, dir, func(*stoat.Tx) error { return nil }); err != nil {
		return err
	}
	db, err := open(s, dir, nil)
	if err != nil {
		return err
	}
	return closeAfter(s, db, reindexAll(s, db, names))
}

func reindexAll(s *stdio, db *stoat.DB, names []string) error {
	for _, name := range names {
		again := records.ReindexStored
		err := db.View(func(tx *stoat.Tx) error {
			b, err := tx.Bucket([]byte(name))
			if err != nil {
				return fmt.Errorf("collection or feed %q: %w", name, err)
			}
			if isFeed, err := b.Has([]byte("format")); err != nil || !isFeed {
				return err
			}
			again = feed.ReindexStored
			return nil
		})
		if err == nil {
			err = again(db, name)
		}
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(s.out, "%s agrees with itself\n", name); err != nil {
			return err
		}
	}
	return nil
}
