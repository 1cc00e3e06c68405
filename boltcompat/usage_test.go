package boltcompat

import (
	"path/filepath"
	"runtime"
	"testing"
)

// closing calls Close in another goroutine and returns once it waits for open transactions. The
// channel gets what it returns.
func closing(db *DB) <-chan error {
	closed := make(chan error, 1)
	go func() { closed <- db.Close() }()
	for waits := false; !waits; runtime.Gosched() {
		db.using.mu.Lock()
		waits = db.using.unused != nil
		db.using.mu.Unlock()
	}
	return closed
}

func TestClose_letsOpenTransactionsFinish(t *testing.T) {
	nothing := func(*Tx) error { return nil }
	for _, test := range []struct {
		name   string
		run    func(*DB, func(*Tx) error) error
		nested error // of a View inside
	}{
		{"Update", (*DB).Update, nil},
		{"View", (*DB).View, ErrDatabaseNotOpen},
	} {
		db, err := Open(filepath.Join(t.TempDir(), "db"), 0o600, nil)
		if err != nil {
			t.Fatal(err)
		}
		var closed <-chan error
		err = test.run(db, func(*Tx) error {
			closed = closing(db)
			if err := db.View(nothing); err != test.nested {
				t.Errorf("%s: a View inside returns %v, want %v", test.name, err, test.nested)
			}
			if err := db.Sync(); err != nil {
				t.Errorf("%s: Sync inside returns %v", test.name, err)
			}
			if err := db.Update(nothing); err != ErrDatabaseNotOpen {
				t.Errorf("%s: an Update inside returns %v, want ErrDatabaseNotOpen", test.name, err)
			}
			if len(closed) > 0 {
				t.Errorf("%s: Close has not waited", test.name)
			}
			return nil
		})
		if err != nil {
			t.Errorf("%s returns %v", test.name, err)
		}
		if err := <-closed; err != nil {
			t.Errorf("%s: Close returns %v", test.name, err)
		}
		if err := db.View(nothing); err != ErrDatabaseNotOpen {
			t.Errorf("%s: after Close, View returns %v", test.name, err)
		}
	}
}
