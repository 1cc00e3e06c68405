package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/commands/cmdline"
	"github.com/stoatdb/stoat/internal/commands/progress"
)

// backupTries is how often a backup starts over because another process replaced files between the
// opening of the database and the opening of its files.
const backupTries = 20

func backupCommand() *command {
	flags := cmdline.NewFlags()
	link := flags.Bool("link", false, "give files a second name in DIR, where possible; no copies")
	choice := newKeyChoice(flags, "backup")
	return &command{
		Name:      "backup",
		Arguments: "DB DIR|-",
		Summary:   "make DIR a copy of the database, or update one",
		Details: `
DIR is a database itself, to read from and to restore. If it holds an earlier
backup, only new files are copied, and the rest are compared. Everything is read
and verified before it counts; until then, or if that fails, DIR is the earlier
backup. DB does not change, and other programs may use it meanwhile: if a
process has it open, the backup has what was committed when it started.

A backup that was written to becomes a database of its own, as a restored one
is: choose another DIR for backups of it, and of the original.

With -link, files are not copied but get a second name in DIR, on the same disk.
That takes an instant, and no space at first. It protects against mistakes, but
not against a failing disk, and the files are not read and verified.

If DIR is -, the backup goes to standard output as one stream, for a file, a
pipe or another machine; "stoat restore -" makes a database of it. If the
command fails, what was written is not a backup, and restore says so.

The backup of an encrypted database is encrypted with the same key, unless
-new-key-file or -plain says otherwise; both work for any database.`,
		Min: 2, Max: 2,
		Flags: flags,
		Run: func(s *stdio, args []string) error {
			key, chosen, err := choice.read()
			if err != nil {
				return err
			}
			if chosen && *link {
				return cmdline.Usagef("-link keeps the key that the files have")
			}
			ctx, stop := interruptible()
			defer stop()
			c := &copying{s: s, label: "backup", to: args[1], link: *link, key: key, rekeyed: chosen}
			if args[1] == "-" {
				return backupStream(ctx, args[0], c)
			}
			return copyReadOnly(ctx, args[0], c, "backup of %s in %s")
		},
	}
}

// copyReadOnly copies a database, which it opens for reading, and prints what that did.
func copyReadOnly(ctx context.Context, dir string, c *copying, format string) error {
	for tries := 1; ; tries++ {
		db, err := open(c.s, dir, &stoat.Options{ReadOnly: true, Logger: slog.New(warnings{c.s.err})})
		if err != nil {
			return err
		}
		err = errors.Join(c.run(ctx, db), db.Close())
		if err == nil {
			return c.print(format)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if tries == backupTries {
			return fmt.Errorf("%w; see \"stoat check %s\"", err, dir)
		}
	}
}

// copying is a copy in progress, with a progress line on a terminal.
type copying struct {
	s     *stdio
	label string
	to    string
	link  bool
	did   stoat.Stats // afterwards

	rekeyed bool   // the copy has another key than the database
	key     []byte // which; nil for none
}

// run makes the copy.
func (c *copying) run(ctx context.Context, db *stoat.DB) error {
	before := db.Stats()
	done := make(chan error, 1)
	go func() {
		switch {
		case c.link:
			done <- db.BackupLinked(ctx, c.to)
		case c.rekeyed:
			done <- db.BackupWithKey(ctx, c.to, c.key)
		default:
			done <- db.Backup(ctx, c.to)
		}
	}()
	line := newProgress(c.s, c.label, int64(before.TableBytes+before.ValueFileBytes))
	defer line.Finish()
	ticker := time.NewTicker(progress.Interval)
	defer ticker.Stop()
	for {
		select {
		case err := <-done:
			if err != nil && ctx.Err() != nil {
				return fmt.Errorf("%w; %s is as it was", errInterrupted, c.to)
			}
			c.did = db.Stats()
			return err
		case <-ticker.C:
			now := db.Stats()
			line.Add(int64(now.BackupBytes+now.BackupKeptBytes) - line.Done())
		}
	}
}

// print reports what was done; the format has verbs for the size and the folder.
func (c *copying) print(format string) error {
	text := func(n uint64) string { return progress.Bytes(float64(n)) }
	verb := "copied"
	if c.link {
		verb = "linked or copied"
	}
	_, err := fmt.Fprintf(c.s.out, format+": %s %s (%s), %s kept\n",
		text(c.did.BackupBytes+c.did.BackupKeptBytes), c.to,
		progress.Counted(int64(c.did.BackupFiles), "file"), verb, text(c.did.BackupBytes),
		progress.Count(int64(c.did.BackupKept)))
	return err
}
