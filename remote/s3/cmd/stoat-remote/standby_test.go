package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoatdb/stoat/remote"
	"github.com/stoatdb/stoat/remote/folderstore"
)

func TestStandby_takesOverOnceTheTriggerExists(t *testing.T) {
	_, store := shipped(t, 3)
	dir := filepath.Join(t.TempDir(), "db")
	trigger := filepath.Join(t.TempDir(), "trigger")
	args := []string{"standby", "-trigger", trigger, store, dir}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r := execute(ctx, args...); r.code != exitInterrupted {
		t.Errorf("without the trigger: exit code %d, stderr %q", r.code, r.err)
	}
	if err := os.WriteFile(trigger, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if out := output(t, args...); !strings.HasPrefix(out, "took over at commit ") {
		t.Errorf("it prints %q", out)
	}
	from, err := folderstore.Open(store)
	if err != nil {
		t.Fatal(err)
	}
	db, err := remote.Open(t.Context(), from, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	fails(t, exitUsage, []string{"standby", store, dir}, "stoat remote help standby")
}

func TestStandby_refusesADatabaseAtOnce(t *testing.T) {
	dir, store := shipped(t, 3)
	for _, taken := range []string{dir, filepath.Join(dir, "LOCK")} {
		fails(t, exitError, []string{"standby", "-trigger", filepath.Join(store, "none"), store, taken},
			taken)
	}
}

// A store that cannot be written to is tried without end, and nobody must wonder why.
func TestStandby_saysWhyItWaits(t *testing.T) {
	_, store := shipped(t, 3)
	unfinished, trigger := filepath.Join(store, ".unfinished"), filepath.Join(t.TempDir(), "trigger")
	dir := filepath.Join(t.TempDir(), "db")
	synctest.Test(t, func(t *testing.T) {
		ctx, interrupt := context.WithCancel(t.Context())
		defer time.AfterFunc(time.Minute, interrupt).Stop()
		defer time.AfterFunc(time.Second, func() {
			if err := errors.Join(os.RemoveAll(unfinished), os.WriteFile(unfinished, nil, 0o600),
				os.WriteFile(trigger, nil, 0o600)); err != nil {
				t.Error(err)
			}
		}).Stop()
		r := execute(ctx, "standby", "-trigger", trigger, store, dir)
		if r.code != exitInterrupted || !strings.Contains(r.err, "still trying: ") {
			t.Errorf("exit code %d, and says %q", r.code, r.err)
		}
	})
}
