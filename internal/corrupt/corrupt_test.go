package corrupt

import (
	"errors"
	"fmt"
	"testing"
)

func TestError_isFoundThroughWraps(t *testing.T) {
	err := fmt.Errorf("open: %w", New("000012.table", 4096, "checksum is %08x", 7))
	if !errors.Is(err, Err) {
		t.Error("errors.Is does not find Err")
	}
	var e *Error
	if !errors.As(err, &e) || e.File != "000012.table" || e.Offset != 4096 {
		t.Errorf("errors.As gives %+v", e)
	}
	want := "open: corrupt data in 000012.table at offset 4096: checksum is 00000007"
	if err.Error() != want {
		t.Errorf("message is %q, want %q", err, want)
	}
}

func TestErrElsewhere_isDamageOfItsOwnKind(t *testing.T) {
	err := NewElsewhere("000012.table", "it is in %s", "a store")
	if !errors.Is(err, Err) || !errors.Is(err, ErrElsewhere) {
		t.Errorf("%v is not found to be both", err)
	}
	if errors.Is(New("000012.table", 0, "it is gone"), ErrElsewhere) {
		t.Error("other damage is found to be elsewhere")
	}
}
