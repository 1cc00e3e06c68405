package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/commands/progress"
)

// overwritten returns the path of a database in which most values are garbage, though no file is.
func overwritten(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "overwritten.db")
	db, err := stoat.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	for round := range 10 {
		err := db.Update(func(tx *stoat.Tx) error {
			for i := 2 * round; i < 20; i++ {
				value := make([]byte, 4<<10)
				_, _ = rand.NewChaCha8([32]byte{byte(round), byte(i)}).Read(value)
				if err := tx.Put(fmt.Append(nil, "key ", i), value); err != nil {
					return err
				}
			}
			return nil
		})
		if err := errors.Join(err, db.Flush()); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestCompact_makesADatabaseSmall(t *testing.T) {
	dir := overwritten(t)
	dump := output(t, "dump", dir)
	_, before, err := diskUsage(dir)
	if err != nil {
		t.Fatal(err)
	}
	text := output(t, "compact", dir)
	_, after, err := diskUsage(dir)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, text, fmt.Sprintf("%s before, %s after\n", progress.Bytes(float64(before)),
		progress.Bytes(float64(after))))
	if after > before/2 {
		t.Errorf("%d bytes before, %d after", before, after)
	}
	r := statsOf(t, dir)
	if r.YoungRuns != 0 || r.PendingBytes > r.TableBytes || r.SpaceAmplification > 1.1 {
		t.Errorf("afterwards: %+v", r)
	}
	equal(t, output(t, "dump", dir), dump)
	output(t, "compact", dir) // finds nothing to do
}

func TestLoads_leaveNothingToCompact(t *testing.T) {
	var lines strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&lines, `{"number":%d,"name":"someone","about":"the same as everybody else"}`+"\n", i)
	}
	dir := filepath.Join(t.TempDir(), "imported.db")
	output(t, "import", "-jsonl", written(t, lines.String()), dir)
	dump := written(t, output(t, "dump", dir))
	again := filepath.Join(t.TempDir(), "loaded.db")
	output(t, "load", again, dump)
	for _, dir := range []string{dir, again} {
		files, size, err := diskUsage(dir)
		if err != nil || size > int64(lines.Len())/4 {
			t.Errorf("%d bytes of JSON take %d in %d files: %v", lines.Len(), size, files, err)
		}
	}
}

func TestCompact_endsWhenInterrupted(t *testing.T) {
	dir := overwritten(t)
	dump := output(t, "dump", dir)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := newStdio(nil, io.Discard, io.Discard)
	if err := compact(ctx, s, dir); !errors.Is(err, errInterrupted) {
		t.Errorf("compact returns %v when interrupted", err)
	}
	equal(t, output(t, "dump", dir), dump)
}

func TestCompact_saysWhoHasTheDatabaseOpen(t *testing.T) {
	dir := sample(t)
	db, err := stoat.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	fails(t, execute(t, "", "compact", dir), exitError, "end that process first")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}
