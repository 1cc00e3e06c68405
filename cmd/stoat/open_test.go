package main

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/testing/tuned"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

func TestCloseAfter_tellsAFailedCommandFromFailedTidyingUp(t *testing.T) {
	var full atomic.Bool
	disk := memfs.New()
	files := faultfs.New(disk, func(op faultfs.Op) error {
		if full.Load() && op.Kind == faultfs.Create && strings.HasSuffix(op.Name, ".table") {
			return vfs.ErrNoSpace
		}
		return nil
	})
	for _, outcome := range []error{nil, errHere} {
		full.Store(false)
		db, err := tuned.Open(files, "db", nil, engine.Tuning{})
		if err == nil {
			err = db.Put([]byte("key"), []byte("value"))
		}
		if err != nil {
			t.Fatal(err)
		}
		full.Store(true)
		var complaint bytes.Buffer
		err = closeAfter(newStdio(nil, io.Discard, &complaint), db, outcome)
		if !errors.Is(err, outcome) || outcome != nil && !errors.Is(err, stoat.ErrNoSpace) {
			t.Errorf("after %v it returns %v", outcome, err)
		}
		warning := "stoat: warning: everything is stored, but closing left work for the next"
		if warned := strings.HasPrefix(complaint.String(), warning); warned != (outcome == nil) {
			t.Errorf("after %v it prints %q", outcome, complaint.String())
		}
	}
	db, err := tuned.Open(disk, "db", nil, engine.Tuning{})
	if err != nil {
		t.Fatal(err)
	}
	if value, err := db.Get([]byte("key")); err != nil || string(value) != "value" {
		t.Errorf("afterwards there is %q (%v)", value, err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}
