package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A file of a pruned replica that is cut off leaves a start from its checkpoint, which status shows
// until another file brings the rest.
func TestStatus_showsAStart(t *testing.T) {
	a := newStore(t, nil)
	b := newStore(t, a)
	random := rand.NewChaCha8([32]byte{1})
	for range 60 {
		name := make([]byte, 1000)
		_, _ = random.Read(name)
		a.put(item{Name: fmt.Sprintf("%x", name), Amount: 1})
	}
	output(t, "checkpoint", "-device", a.key, a.db)
	path := filepath.Join(t.TempDir(), "f")
	output(t, "export", "-device", a.key, a.db, path) // seals
	output(t, "prune", "-device", a.key, a.db)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	output(t, "export", "-device", a.key, a.db, path)
	whole, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, whole[:len(whole)*2/3], 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	fails(t, exitDamaged, []string{"import", "-device", b.key, b.db, path}, "cut off")
	var v statusJSON
	err = json.Unmarshal([]byte(output(t, "status", "-json", b.db)), &v)
	if err != nil || v.Start == nil || v.Start.Stored == 0 || v.Start.Stored >= v.Start.Chunks {
		t.Fatalf("the start is %+v (%v)", v.Start, err)
	}
	want := fmt.Sprintf("starting   %d of %d chunks of a checkpoint are here", v.Start.Stored,
		v.Start.Chunks)
	if text := output(t, "status", b.db); !strings.Contains(text, want) {
		t.Errorf("status is\n%s", text)
	}
	carry(t, a, b)
	if text := output(t, "status", b.db); strings.Contains(text, "starting") || b.root() != a.root() {
		t.Errorf("behind the start, status is\n%s", text)
	}
}
