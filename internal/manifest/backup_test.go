package manifest

import (
	"errors"
	"testing"

	"github.com/stoatdb/stoat/internal/corrupt"
)

func TestVersion_saysWhetherItIsABackup(t *testing.T) {
	for _, want := range []*Version{
		{LogNumber: 7, NextNumber: 7, Backup: true},
		{LogNumber: 7, NextNumber: 7},
		{LogNumber: 7, NextNumber: 8, Backup: true},
		{LogNumber: 7, NextNumber: 8},
		{},
	} {
		p := appendVersion(nil, want)
		got, err := decodeVersion(p)
		if err != nil || got.Backup != want.Backup || !got.Equal(want) {
			t.Errorf("%+v is read as %+v: %v", want, got, err)
		}
		next, err := got.Apply(&Edit{NextNumber: 9})
		if err != nil || next.Backup {
			t.Errorf("%+v is a backup after an edit: %v", want, err)
		}
	}
}

// Before the tag existed, a backup was marked only by these two numbers.
func TestVersion_recognisesABackupWithoutATag(t *testing.T) {
	for _, c := range []struct {
		p    []byte
		want bool
	}{
		{[]byte{tagLogNumber, 7, tagNextNumber, 7}, true},
		{[]byte{tagLogNumber, 7, tagNextNumber, 8}, false},
		{nil, false},
	} {
		v, err := decodeVersion(c.p)
		if err != nil || v.Backup != c.want {
			t.Errorf("% x is a backup: %v, want %v: %v", c.p, v.Backup, c.want, err)
		}
	}
}

func TestVersion_refusesAnUnknownBackupTag(t *testing.T) {
	for _, n := range []byte{0, 3} {
		p := []byte{tagLogNumber, 7, tagNextNumber, 8, tagBackup, n}
		if _, err := decodeVersion(p); !errors.Is(err, corrupt.ErrFormat) {
			t.Errorf("tag %d: %v", n, err)
		}
	}
}
