package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRemote_saysHowToGetTheOtherProgram(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	fails(t, execute(t, "", "remote", "status", "store"), exitError, "stoat-remote",
		"go install github.com/stoatdb/stoat/remote/s3/cmd/stoat-remote@latest")
}

// What is missing in a folder that package remote ships may be in the store: salvage would lose it.
func TestGet_saysThatFilesMayBeInTheStore(t *testing.T) {
	db := sample(t)
	output(t, "compact", db)
	tables, err := filepath.Glob(filepath.Join(db, "*.table"))
	if err != nil || len(tables) == 0 {
		t.Fatal(tables, err)
	}
	for _, name := range tables {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	fails(t, execute(t, "", "get", db, "ant"), exitDamaged, "stoat salvage")
	if err := os.WriteFile(filepath.Join(db, "CLAIM-000016"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r := execute(t, "", "get", db, "ant")
	fails(t, r, exitDamaged, "stoat remote restore")
	if strings.Contains(r.err, "stoat salvage") {
		t.Errorf("it advises to lose files: %s", r.err)
	}
}
