package chunk

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"runtime"
	"testing"
)

func TestPack_keepsChunksOfAllSizes(t *testing.T) {
	random := rand.NewChaCha8([32]byte{6})
	u := &Unpacker{}
	sizes := []int{1, 2, packMin - 1, packMin, 64 << 10, packMax, packMax + 1, 3 * packMax}
	for _, size := range sizes {
		for _, p := range [][]byte{bytes.Repeat([]byte("record "), size/7+1)[:size], make([]byte, size)} {
			if p[0] == 0 {
				_, _ = random.Read(p)
			}
			form, err := Pack(p)
			if err != nil {
				t.Fatal(err)
			}
			got, err := u.Unpack(form)
			if err != nil || !bytes.Equal(got, p) {
				t.Errorf("%d bytes: %d, %v", size, len(got), err)
			}
			packs := p[0] == 'r' && size >= packMin && size <= packMax
			if len(form) > size+1 || packs && len(form) > size/4 {
				t.Errorf("the form of %d bytes has %d", size, len(form))
			}
			if !u.Is(form, Leaf(p)) || u.Is(form, Hash{1}) {
				t.Errorf("%d bytes: a form of another chunk", size)
			}
		}
	}
}

// What a peer sends as the form of a chunk takes little memory, whatever it is.
func TestUnpack_refusesWhatIsNoForm(t *testing.T) {
	z, err := encoder()
	if err != nil {
		t.Fatal(err)
	}
	packed := z.EncodeAll(bytes.Repeat([]byte("record "), 1000), []byte{compressed})
	empty := z.EncodeAll([]byte{}, nil)
	if len(empty) == 0 { // a frame of no bytes, without its size
		empty = []byte{0x28, 0xB5, 0x2F, 0xFD, 0x20, 0, 1, 0, 0}
	}
	skipped := append([]byte{0x50, 0x2A, 0x4D, 0x18, 0, 0, 4, 0}, make([]byte, 4<<16)...)
	for name, form := range map[string][]byte{
		"nothing":         {},
		"an unknown form": {2, 1, 2, 3},
		"no frame":        {compressed, 1, 2, 3},
		"a cut frame":     packed[:len(packed)-1],
		"too much":        make([]byte, FormMax+1),
		"a bomb":          z.EncodeAll(make([]byte, 64*packMax), []byte{compressed}),
		"many frames":     append(packed[:1:1], bytes.Repeat(packed[1:], 200)...),
		"empty frames":    append(packed[:len(packed):len(packed)], bytes.Repeat(empty, 1000)...),
		"skipped bytes":   append(packed[:len(packed):len(packed)], skipped...),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := (&Unpacker{}).Unpack(form)
		runtime.ReadMemStats(&after)
		if !errors.Is(err, errForm) {
			t.Errorf("%s: got %v", name, err)
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 8*packMax {
			t.Errorf("%s: it takes %d bytes", name, n)
		}
	}
}

func FuzzUnpack(f *testing.F) {
	for _, size := range []int{1, 2000, packMax} {
		form, err := Pack(bytes.Repeat([]byte{7}, size))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(form)
	}
	f.Fuzz(func(t *testing.T, form []byte) {
		p, err := (&Unpacker{}).Unpack(form)
		if err != nil {
			return
		}
		if len(form) > len(p)+1 || form[0] == compressed && len(p) > packMax {
			t.Errorf("a form of %d bytes makes %d", len(form), len(p))
		}
	})
}
