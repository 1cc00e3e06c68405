package chunk

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/stoatdb/stoat/replica/internal/wire"
)

// state is a sorted list of random records.
func state(rng *rand.Rand, n, size int) []Record {
	all := make([]Record, n)
	for i := range all {
		all[i].Key = binary.BigEndian.AppendUint32(nil, uint32(2*i))
		all[i].State = make([]byte, 1+rng.IntN(2*size))
		for j := range all[i].State {
			all[i].State[j] = byte(rng.Uint32())
		}
	}
	return all
}

// cut returns the chunks of a state.
func cut(t *testing.T, all []Record) (chunks [][]byte, tree Tree) {
	t.Helper()
	c := &Cutter{Emit: func(first, chunk []byte) error {
		got, err := Parse(chunk)
		if err != nil || !bytes.Equal(got[0].Key, first) {
			t.Fatalf("chunk %d does not begin with %x: %v", len(chunks), first, err)
		}
		chunks, tree = append(chunks, bytes.Clone(chunk)), append(tree, Leaf(chunk))
		return nil
	}}
	for _, r := range all {
		if err := c.Add(r.Key, r.State); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	return chunks, tree
}

func TestCutter_keepsAllRecords(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	all := state(rng, 20_000, 200)
	chunks, _ := cut(t, all)
	var got []Record
	size := 0
	for i, p := range chunks {
		records, err := Parse(p)
		if err != nil {
			t.Fatal(err)
		}
		if len(p) < sizeLeast && i+1 < len(chunks) || len(p) > sizeMost+1000 {
			t.Errorf("chunk %d has %d bytes", i, len(p))
		}
		got, size = append(got, records...), size+len(p)
	}
	if len(got) != len(all) {
		t.Fatalf("%d records instead of %d", len(got), len(all))
	}
	for i := range got {
		if !bytes.Equal(got[i].Key, all[i].Key) || !bytes.Equal(got[i].State, all[i].State) {
			t.Fatalf("record %d differs", i)
		}
	}
	if mean := size / len(chunks); mean < 48<<10 || mean > 80<<10 {
		t.Errorf("chunks have %d bytes in the mean", mean)
	}
}

// A record more or less changes the chunks around it, not all that follow.
func TestCutter_sharesChunks(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	all := state(rng, 20_000, 200)
	_, before := cut(t, all)
	_, after := cut(t, append(all[:5000:5000], all[5001:]...))
	known := map[Hash]bool{}
	for _, h := range before {
		known[h] = true
	}
	differ := 0
	for _, h := range after {
		if !known[h] {
			differ++
		}
	}
	if differ > 4 {
		t.Errorf("%d of %d chunks differ", differ, len(after))
	}
}

func TestProof_provesItsChunkOnly(t *testing.T) {
	var tree Tree
	for n := range 40 {
		tree = append(tree, Leaf([]byte{byte(n)}))
		s := &Subtree{"c", uint64(len(tree)), tree.Root()}
		for i := range tree {
			proof := tree.Proof(i)
			for j := range len(tree) + 2 {
				leaf := tree[min(j, n)]
				if got, want := s.Verify(uint64(j), leaf, proof), j == i; got != want {
					t.Fatalf("leaf %d of %d with the proof of %d: %v", j, n+1, i, got)
				}
			}
			if s.Verify(uint64(i), tree[i], append(proof, Hash{})) ||
				len(proof) > 0 && s.Verify(uint64(i), tree[i], proof[1:]) {
				t.Fatalf("leaf %d of %d: a proof of another length", i, n+1)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(wire.AppendBytes(wire.AppendBytes(nil, "k"), "s"))
	f.Add([]byte{1})
	f.Fuzz(func(t *testing.T, p []byte) {
		all, err := Parse(p)
		if err != nil {
			return
		}
		var again []byte
		for _, r := range all {
			again = wire.AppendBytes(wire.AppendBytes(again, r.Key), r.State)
		}
		if !bytes.Equal(p, again) {
			t.Error("another encoding of the same chunk")
		}
	})
}

func FuzzTake(f *testing.F) {
	f.Add(Append(nil, []Subtree{{"a", 1, Hash{1}}, {"b", 300, Hash{2}}}))
	f.Fuzz(func(t *testing.T, p []byte) {
		r := wire.NewReader(p)
		all := Take(&r)
		if r.End() == nil && !bytes.Equal(p, Append(nil, all)) {
			t.Error("another encoding of the same list")
		}
	})
}
