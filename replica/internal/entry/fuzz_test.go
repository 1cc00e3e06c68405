package entry

import (
	"bytes"
	"encoding/hex"
	"testing"

	"github.com/stoatdb/stoat/replica/internal/hlc"
)

// What Parse accepts encodes to the same bytes.
func FuzzParse(f *testing.F) {
	for _, v := range readVectors(f).Entries {
		p, err := hex.DecodeString(v.Stored)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(p)
	}
	f.Add((&Entry{Time: hlc.Time(1) << 40, Kind: KindContext}).Append(nil))
	f.Fuzz(func(t *testing.T, p []byte) {
		e, err := Parse(p)
		if err != nil {
			return
		}
		if again := e.Append(nil); !bytes.Equal(again, p) {
			t.Errorf("%x was accepted, and encodes to %x", p, again)
		}
		if _, err := ParseHead(p); err != nil {
			t.Errorf("its head alone is refused: %v", err)
		}
		_, _ = ParseGenesis(e)
	})
}

// What ParseChanges accepts encodes to the same bytes.
func FuzzParseChanges(f *testing.F) {
	f.Add(sampleChanges().Append(nil))
	f.Fuzz(func(t *testing.T, p []byte) {
		c, err := ParseChanges(p)
		if err != nil {
			return
		}
		if again := c.Append(nil); !bytes.Equal(again, p) {
			t.Errorf("%x was accepted, and encodes to %x", p, again)
		}
	})
}

// What ParseAct accepts encodes to the same bytes.
func FuzzParseAct(f *testing.F) {
	for _, act := range sampleActs() {
		f.Add(act.act.Append(nil))
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		a, err := ParseAct(&Entry{Kind: KindControl, Parts: []Part{{Data: p}}})
		if err != nil {
			return
		}
		if again := a.Append(nil); !bytes.Equal(again, p) {
			t.Errorf("%x was accepted, and encodes to %x", p, again)
		}
	})
}

// What ParseSpace accepts encodes to the same bytes.
func FuzzParseSpace(f *testing.F) {
	f.Add((&Space{EntryMax: 1 << 20, Quorum: 1, Roots: make([][32]byte, 1)}).Append(nil))
	f.Fuzz(func(t *testing.T, p []byte) {
		s, err := ParseSpace(p)
		if err == nil && !bytes.Equal(s.Append(nil), p) {
			t.Errorf("%x was accepted, and encodes otherwise", p)
		}
	})
}
