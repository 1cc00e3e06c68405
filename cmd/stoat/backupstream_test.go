package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/internal/commands/cmdline"
)

func TestBackupStream_isRestoredToTheSame(t *testing.T) {
	db := sample(t)
	stream := output(t, "backup", db, "-")
	gz, zst := packed(t, stream)
	for _, text := range []string{stream, gz, zst, stream + strings.Repeat("\x00", 5000)} {
		to := filepath.Join(t.TempDir(), "new.db")
		r := execute(t, text, "restore", "-", to)
		if r.code != exitOK || r.err != "" ||
			!strings.HasPrefix(r.out, "restored standard input to "+to+": ") {
			t.Fatalf("exit code %d, it prints %s%s", r.code, r.out, r.err)
		}
		equal(t, output(t, "dump", to), output(t, "dump", db))
		fromFile := filepath.Join(t.TempDir(), "new.db")
		output(t, "restore", written(t, text), fromFile)
		equal(t, output(t, "dump", fromFile), output(t, "dump", db))
		output(t, "put", fromFile, "key", "value")
	}
}

func TestRestoreStream_refusesWhatIsNoWholeBackup(t *testing.T) {
	stream := output(t, "backup", sample(t), "-")
	gz, _ := packed(t, stream)
	flipped := []byte(stream)
	flipped[len(flipped)/2] ^= 1
	for _, c := range []struct {
		text string
		code int
		want string
	}{
		{"", exitDamaged, "nothing was restored"},
		{stream[:100], exitDamaged, "nothing was restored"},
		{stream[:len(stream)/2], exitDamaged, "nothing was restored"},
		{string(flipped), exitDamaged, "nothing was restored"},
		{gz[:len(gz)/2], exitError, "the gzip data is cut short"},
		{strings.Repeat("hello\n", 1000), exitError, "no backup"},
	} {
		to := filepath.Join(t.TempDir(), "new.db")
		fails(t, execute(t, c.text, "restore", "-", to), c.code, "standard input: ", c.want)
		fails(t, execute(t, "", "get", to, "ant"), exitError, "there is no database")
		if r := execute(t, stream, "restore", "-", to); r.code != exitOK {
			t.Errorf("a second try says %s", r.err)
		}
	}
	db := sample(t)
	fails(t, execute(t, stream, "restore", "-", db), exitError, "is not empty")
}

func TestBackupStream_isNotForATerminal(t *testing.T) {
	db := sample(t)
	var out bytes.Buffer
	s := newStdio(nil, &out, io.Discard)
	s.outTerminal = true
	var usage cmdline.UsageError
	if err := backupStream(t.Context(), db, &copying{s: s}); !errors.As(err, &usage) || out.Len() > 0 {
		t.Errorf("it writes %d bytes to a terminal and returns %v", out.Len(), err)
	}
	fails(t, execute(t, "", "backup", "-link", db, "-"), exitUsage, "-link needs a directory")
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if isTerminal(null) {
		t.Errorf("%s counts as a terminal", os.DevNull)
	}
}

func TestBackupStream_saysThatWhatWasWrittenIsNoBackup(t *testing.T) {
	db := sample(t)
	var complaint strings.Builder
	if code := run([]string{"backup", db, "-"}, nil, fullDisk{}, &complaint); code != exitError ||
		!strings.Contains(complaint.String(), "disk full") {
		t.Errorf("on a full disk: exit code %d, stderr %q", code, complaint.String())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := newStdio(nil, io.Discard, io.Discard)
	if err := backupStream(ctx, db, &copying{s: s}); !errors.Is(err, errInterrupted) {
		t.Errorf("interrupted it returns %v", err)
	}
	none := filepath.Join(t.TempDir(), "none.db")
	fails(t, execute(t, "", "backup", none, "-"), exitError, "no database at "+none)
}

func TestRestoreStream_endsWhenInterrupted(t *testing.T) {
	stream := output(t, "backup", sample(t), "-")
	ctx, cancel := context.WithCancel(t.Context())
	from, to := io.Pipe() // of which nobody writes the rest
	defer to.Close()
	go func() {
		w := bufio.NewWriter(to)
		_, err := w.WriteString(stream[:len(stream)/2])
		if err := errors.Join(err, w.Flush()); err != nil {
			t.Error(err)
		}
		cancel()
	}()
	dir := filepath.Join(t.TempDir(), "new.db")
	err := restoreStream(ctx, newStdio(from, io.Discard, io.Discard), "-", dir, nil)
	if !errors.Is(err, errInterrupted) || err.Error() != "interrupted; nothing was restored" {
		t.Errorf("it returns %v", err)
	}
	left, err := filepath.Glob(filepath.Join(dir, "MANIFEST-*"))
	if err != nil || left != nil {
		t.Errorf("it leaves %v (%v)", left, err)
	}
}
