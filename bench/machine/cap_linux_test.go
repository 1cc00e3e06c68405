package machine

import (
	"errors"
	"os"
	"testing"
)

// nobody is the number of a process that cannot be.
const nobody = 1<<31 - 1

func TestRemoveCap_removesWhatADeadProcessLeft(t *testing.T) {
	if err := RemoveCap(nobody); err != nil {
		t.Errorf("with nothing to remove: %v", err)
	}
	lift, err := CapMemory(64 << 20)
	if errors.Is(err, ErrNoCap) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := lift(); err != nil {
		t.Fatal(err)
	}
	for _, h := range hierarchies() {
		if err := os.Mkdir(h.group(nobody), 0o755); err != nil {
			continue
		}
		if err := RemoveCap(nobody); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(h.group(nobody)); !os.IsNotExist(err) {
			t.Errorf("%s is left: %v", h.group(nobody), err)
		}
	}
}
