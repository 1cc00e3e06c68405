package fork

import (
	"fmt"
	"testing"

	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/seal"
	"github.com/stoatdb/stoat/replica/internal/wire"
)

// largest returns a data entry with parts that take the most room without their content, and the
// most that comes with them.
func largest(seq, parts, group int, context bool) *entry.Entry {
	e := data(1<<40, "")
	e.Parts = nil
	for i := range parts {
		name := fmt.Sprintf("%0*d", group, i)
		if group == 1 {
			name = string(rune(' ' + i))
		}
		e.Parts = append(e.Parts, entry.Part{Group: name})
	}
	for i := 0; context && i < 32; i++ {
		e.Context = append(e.Context, entry.Head{Log: entry.Hash{byte(i)}, Seq: 1<<48 - 1})
	}
	return e
}

// Any fork of two runs can be proven: its proof is not larger than others take.
func TestProof_ofTheLargestRunsIsSmallEnough(t *testing.T) {
	const run = 64 << 10 // bytes after which a run ends
	most := 0
	for _, parts := range []int{1, 2, 16, 64} {
		var sides [2]Side
		for i := range sides {
			size := 0
			for seq := 0; seq < entriesMax-1; seq++ {
				p := largest(seq, parts, 1, false).Append(nil)
				if size+len(p) >= run {
					break
				}
				size += len(p)
				sides[i].Entries = append(sides[i].Entries, p)
			}
			sides[i].Entries = append(sides[i].Entries, largest(i, 64, 255, true).Append(nil))
		}
		s := newSample()
		p, err := New(s.space, s.log, s.genesis, 2, s.prev, sides)
		if err != nil {
			t.Fatal(err)
		}
		most = max(most, len(p.Append(nil)))
	}
	if most > SizeMax || most < SizeMax/2 {
		t.Errorf("a proof has %d bytes, and may have %d", most, SizeMax)
	}
}

// A proof that is larger than any is refused before it is looked at.
func TestParse_refusesLargeProofs(t *testing.T) {
	p := wire.AppendBytes([]byte{version}, make([]byte, SizeMax))
	if _, err := Parse(append(p, make([]byte, seal.Size)...)); err == nil {
		t.Error("it is taken")
	}
}
