package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/commands/cmdline"
	"github.com/stoatdb/stoat/internal/commands/progress"
)

// crashReport tells what a killed process left.
type crashReport struct {
	Acknowledged int     `json:"acknowledged"` // commits that the process reported
	Found        int     `json:"found"`        // commits in the database afterwards
	Lost         int     `json:"lost"`         // acknowledged and not found
	RunSeconds   float64 `json:"runSeconds"`   // from the first commit to the kill
	OpenSeconds  float64 `json:"openSeconds"`  // opening after the crash
}

const (
	crashBucket     = "crash"
	writerCommand   = "tour-writer"
	writerCommits   = 1_000_000              // at most: it is killed long before
	crashAfter      = 400 * time.Millisecond // from the first commit on
	crashTimeout    = time.Minute
	crashValueBytes = 2000
)

func tourWriterCommand() *command {
	return &command{
		Name:      writerCommand,
		Arguments: "DB",
		Summary:   "the process that the tour kills: commit, say so, and go on",
		Min:       1, Max: 1,
		Hidden: true,
		Flags:  cmdline.NewFlags(),
		Run:    func(s *stdio, args []string) error { return writeUntilKilled(s, args[0]) },
	}
}

// writeUntilKilled commits one entry after the other, and prints its number once it is durable.
func writeUntilKilled(s *stdio, dir string) error {
	db, err := open(s, dir, nil)
	if err != nil {
		return err
	}
	for n := range writerCommits {
		err := db.Update(func(tx *stoat.Tx) error {
			b, err := tx.CreateBucketIfNotExists([]byte(crashBucket))
			if err != nil {
				return err
			}
			return b.Put(crashEntry(n))
		})
		if err == nil {
			_, err = fmt.Fprintln(s.out, n)
		}
		if err == nil {
			err = s.out.Flush()
		}
		if err != nil {
			return errors.Join(err, db.Close())
		}
	}
	return db.Close()
}

// crashEntry returns what commit n stores.
func crashEntry(n int) (key, value []byte) {
	key = fmt.Appendf(nil, "%08d", n)
	return key, bytes.Repeat(key, crashValueBytes/len(key))
}

// crash lets another process write to the database, kills it, and checks what is there.
func (t *tour) crash() error {
	if err := t.close(); err != nil {
		return err
	}
	r := &t.report.Crash
	if err := t.runAndKill(r); err != nil {
		if interrupted(t.ctx) != nil {
			return errInterrupted
		}
		return fmt.Errorf("the process to kill: %w", err)
	}
	started := time.Now()
	if err := t.open(&stoat.Options{LockTimeout: crashTimeout}); err != nil {
		return err
	}
	r.OpenSeconds = time.Since(started).Seconds()
	if err := t.db.Update(r.collect); err != nil {
		return fmt.Errorf("after the crash: %w", err)
	}
	r.Lost = max(0, r.Acknowledged-r.Found)
	if r.Lost > 0 {
		return fmt.Errorf("after the crash %d acknowledged commits of %d are lost", r.Lost,
			r.Acknowledged)
	}
	err := t.row("7", "kill a writer", progress.Counted(int64(r.Acknowledged), "acknowledged commit"),
		progress.Duration(seconds(r.RunSeconds)), fmt.Sprintf("%s lost", progress.Count(int64(r.Lost))))
	if err != nil {
		return err
	}
	return t.row("", "open after that", progress.Counted(int64(r.Found), "commit")+" found",
		progress.Duration(seconds(r.OpenSeconds)), "")
}

// runAndKill starts this program again as the writer, kills it while it writes, and counts the
// commits it acknowledged.
func (t *tour) runAndKill(r *crashReport) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(t.ctx, crashTimeout)
	defer cancel()
	child := exec.CommandContext(ctx, self, writerCommand, t.dir)
	var complaint bytes.Buffer
	child.Stderr = &complaint
	acks, err := child.StdoutPipe()
	if err != nil {
		return err
	}
	if err := child.Start(); err != nil {
		return err
	}
	killed, err := r.listen(acks, child.Process.Kill)
	waitErr := child.Wait() // always an error, because the process was killed
	switch {
	case ctx.Err() != nil:
		return errors.New("it wrote nothing")
	case err != nil:
		return err
	case !killed:
		return fmt.Errorf("it ended by itself: %v: %s", waitErr, strings.TrimSpace(complaint.String()))
	}
	return nil
}

// listen reads acknowledgements to the end, and kills the process some time after the first. It
// counts the ones already sent when the process dies.
func (r *crashReport) listen(acks io.Reader, kill func() error) (killed bool, err error) {
	in := bufio.NewReader(acks)
	var first time.Time
	for {
		line, err := in.ReadString('\n')
		if err != nil { // the end, perhaps within a line
			return killed, nil
		}
		n, err := strconv.Atoi(strings.TrimSpace(line))
		if err != nil || n != r.Acknowledged {
			return killed, errors.Join(fmt.Errorf("it said %q", line), kill())
		}
		if r.Acknowledged++; n == 0 {
			first = time.Now()
		}
		if !killed && time.Since(first) >= crashAfter {
			r.RunSeconds = time.Since(first).Seconds()
			if err := kill(); err != nil {
				return false, err
			}
			killed = true
		}
	}
}

// collect counts the commits of the writer, checks what they stored, and deletes it.
func (r *crashReport) collect(tx *stoat.Tx) error {
	b, err := tx.Bucket([]byte(crashBucket))
	if err != nil {
		return err
	}
	for key, value := range b.Scan(stoat.Range{}) {
		wantKey, wantValue := crashEntry(r.Found)
		if !bytes.Equal(key, wantKey) || !bytes.Equal(value, wantValue) {
			return fmt.Errorf("commit %d of %d is not what was written: found %s", r.Found,
				r.Acknowledged, quote(key))
		}
		r.Found++
	}
	if err := tx.Err(); err != nil {
		return err
	}
	return tx.DeleteBucket([]byte(crashBucket))
}
