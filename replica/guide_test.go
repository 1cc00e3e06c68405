package replica_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica"
)

// Item is a record of the guide.
type Item struct {
	Name   string `stoat:"name,key"`
	Amount int64  `stoat:"amount,merge=sum"`
	Note   string `stoat:"note"`
}

func firstSpace(db *stoat.DB) (*replica.Space, error) {
	device, err := replica.NewDevice() // once; store device.Key() in a file that only you can read
	if err != nil {
		return nil, err
	}
	space, err := replica.Create(db, "home", &replica.Options{Device: device})
	if err != nil {
		return nil, err
	}
	items, err := replica.Collection[Item](space, "items", nil)
	if err != nil {
		return nil, err
	}

	err = db.Update(func(tx *stoat.Tx) error {
		return items.Put(tx, &Item{Name: "milk", Amount: 2})
	})
	return space, err
}

func grantPhone(db *stoat.DB, space *replica.Space, phone replica.DeviceID) (err error) {
	err = db.Update(func(tx *stoat.Tx) error { // at a root
		return space.Grant(tx, phone, replica.Write, replica.In("items"))
	})
	return err
}

func joinOnPhone(db *stoat.DB, id replica.SpaceID, device *replica.Device) error {
	space, err := replica.Join(db, "home", id, &replica.Options{Device: device}) // on the phone
	if err == nil && space.ID() != id {
		err = replica.ErrNotFound
	}
	return err
}

// The code of the guide is that of this file, and runs.
func TestGuide_showsCodeThatRuns(t *testing.T) {
	home, err := stoat.OpenMemory(nil)
	if err != nil {
		t.Fatal(err)
	}
	phone, err := stoat.OpenMemory(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = home.Close(), phone.Close() })
	device, err := replica.NewDevice()
	if err != nil {
		t.Fatal(err)
	}
	space, err := firstSpace(home)
	if err == nil {
		err = grantPhone(home, space, device.ID())
	}
	if err == nil {
		err = joinOnPhone(phone, space.ID(), device)
	}
	if err != nil {
		t.Error(err)
	}
	code := map[string]bool{}
	for line := range strings.Lines(read(t, "guide_test.go")) {
		code[strings.Join(strings.Fields(line), " ")] = true
	}
	blocks := 0
	for i, block := range strings.Split(read(t, "../docs/replica.md"), "```") {
		lines, isGo := strings.CutPrefix(block, "go\n")
		if i%2 == 0 || !isGo {
			continue
		}
		blocks++
		for line := range strings.Lines(lines) {
			if line = strings.Join(strings.Fields(line), " "); !code[line] {
				t.Errorf("the guide shows a line that is not in guide_test.go; add it there: %s", line)
			}
		}
	}
	if blocks == 0 {
		t.Error("the guide has no code")
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
