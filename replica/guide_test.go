package replica_test

import (
	"context"
	"net"
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

func firstSpace(db *stoat.DB) (*replica.Device, *replica.Space, error) {
	device, err := replica.NewDevice() // once; store device.Key() where only you can read it
	if err != nil {
		return nil, nil, err
	}
	space, err := replica.Create(db, "home", &replica.Options{Device: device})
	if err != nil {
		return nil, nil, err
	}
	items, err := replica.Collection[Item](space, "items", nil)
	if err != nil {
		return nil, nil, err
	}

	err = db.Update(func(tx *stoat.Tx) error {
		return items.Put(tx, &Item{Name: "milk", Amount: 2})
	})
	return device, space, err
}

func openAgain(db *stoat.DB, key []byte) (*replica.Space, error) {
	device, err := replica.LoadDevice(key)
	if err != nil {
		return nil, err
	}
	space, err := replica.Open(db, "home", &replica.Options{Device: device})
	return space, err
}

func serveAtHome(ctx context.Context, listener net.Listener, space *replica.Space) (err error) {
	err = replica.Serve(ctx, listener, []*replica.Space{space}, nil) // at home, until ctx ends
	return err
}

func syncPhone(ctx context.Context, space *replica.Space, addr string, device *replica.Device,
	home replica.DeviceID,
) error {
	conn, err := replica.Dial(ctx, addr, device, home) // on the phone; home is the id of that device
	if err != nil {
		return err
	}
	err = replica.Sync(ctx, space, conn, nil) // until the connection ends; then dial again
	return err
}

func grantPhone(db *stoat.DB, space *replica.Space, phone replica.DeviceID) (err error) {
	err = db.Update(func(tx *stoat.Tx) error { // at a root
		return space.Grant(tx, phone, replica.Write, replica.In("items"))
	})
	return err
}

func joinOnPhone(
	db *stoat.DB, id replica.SpaceID, device *replica.Device,
) (*replica.Space, error) {
	space, err := replica.Join(db, "home", id, &replica.Options{Device: device}) // on the phone
	return space, err
}

func openMemory(t *testing.T) *stoat.DB {
	t.Helper()
	db, err := stoat.OpenMemory(nil)
	must(t, err)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestGuide_codeRuns(t *testing.T) {
	home, phone := openMemory(t), openMemory(t)
	server, _, err := firstSpace(home)
	must(t, err)
	space, err := openAgain(home, server.Key())
	must(t, err)
	device, err := replica.NewDevice()
	must(t, err)
	must(t, grantPhone(home, space, device.ID()))
	joined, err := joinOnPhone(phone, space.ID(), device)
	must(t, err)
	items, err := replica.Collection[Item](joined, "items", nil)
	must(t, err)

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	ctx, cancel := context.WithCancelCause(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- serveAtHome(ctx, listener, space) }()
	go func() {
		cancel(syncPhone(ctx, joined, listener.Addr().String(), device, server.ID()))
	}()
	for changes, err := range items.Watch(ctx, phone, items.Query()) {
		must(t, err)
		if len(changes.Added) == 1 && changes.Added[0].Record.Amount == 2 {
			break
		}
	}
	cancel(nil)
	<-ended
}

func TestGuide_showsCodeThatRuns(t *testing.T) {
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
	must(t, err)
	return string(text)
}
