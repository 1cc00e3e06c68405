package replica

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/wire"
)

// export returns what a replica exports to somebody who has a vector.
func (p *peer) export(since Vector) []byte {
	p.t.Helper()
	var file bytes.Buffer
	if err := ExportSince(context.Background(), p.space, since, &file); err != nil {
		p.t.Fatal(err)
	}
	return file.Bytes()
}

// load imports a file.
func (p *peer) load(file []byte) error {
	return Import(context.Background(), p.space, bytes.NewReader(file))
}

// vector returns what a replica has.
func (p *peer) vector() (v Vector) {
	p.t.Helper()
	err := p.db.View(func(tx *stoat.Tx) (err error) {
		v, err = p.space.Vector(tx)
		return err
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return v
}

// must fails the test if err is not nil.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Exporting and importing is syncing: in random histories, some replicas meet and others carry
// files, and all end equal.
func TestExport_andImportAreSync(t *testing.T) {
	rounds := uint64(20)
	if testing.Short() {
		rounds = 4
	}
	for seed := range rounds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 16))
			a := newPeer(t, nil)
			must(t, newPeer(t, a).load(a.export(nil)))
			peers := []*peer{a, newPeer(t, a), newPeer(t, a)}
			for range 40 {
				p, q := peers[r.IntN(3)], peers[r.IntN(3)]
				switch r.IntN(6) {
				case 0:
					must(t, p.load(q.export(nil)))
				case 1:
					must(t, p.load(q.export(p.vector())))
				case 2:
					if p != q {
						meet(t, p, q)
					}
				default:
					p.put(task{ID: r.Int64N(4), Title: string(rune('a' + r.IntN(20))),
						Votes: r.Int32N(10), Tags: []string{string(rune('a' + r.IntN(3)))}})
				}
			}
			for _, p := range peers {
				for _, q := range peers {
					must(t, p.load(q.export(p.vector())))
				}
			}
			agree(t, peers...)
			compareWithModel(t, a)
		})
	}
}

// A chain of sticks: what one device carries on is not only what it wrote.
func TestExport_carriesTheEntriesOfOthers(t *testing.T) {
	a := newPeer(t, nil)
	b, c := newPeer(t, a), newPeer(t, a)
	a.put(task{ID: 1, Title: "a"})
	must(t, b.load(a.export(nil)))
	b.put(task{ID: 2})
	must(t, c.load(b.export(nil)))
	if c.get(1) == nil || c.get(2) == nil {
		t.Error("something is missing at the end of the chain")
	}
	agree(t, b, c)
}

func TestReadVector_readsWhatTheExporterHas(t *testing.T) {
	a := newPeer(t, nil)
	b := newPeer(t, a)
	a.put(task{ID: 1})
	b.put(task{ID: 2})
	meet(t, a, b)
	whole := a.export(nil)
	id, v, err := ReadVector(bytes.NewReader(whole))
	must(t, err)
	if id != a.space.ID() || len(v) != 2 {
		t.Errorf("it reads the space %s and %d logs", id, len(v))
	}
	rest := a.export(v)
	if _, again, err := ReadVector(bytes.NewReader(rest)); err != nil || len(again) != 2 {
		t.Errorf("an export of nothing lists %d logs (%v)", len(again), err)
	}
	if len(rest) >= len(whole) {
		t.Errorf("what is known takes %d bytes again, of %d", len(rest), len(whole))
	}
	must(t, newPeer(t, a).load(a.export(Vector{})))
}

func TestImport_saysThatAFileComesTooEarly(t *testing.T) {
	a := newPeer(t, nil)
	a.put(task{ID: 1})
	first := a.export(nil)
	a.put(task{ID: 2})
	_, known, err := ReadVector(bytes.NewReader(first))
	must(t, err)
	second := a.export(known)
	b := newPeer(t, a)
	if err := b.load(second); !errors.Is(err, ErrMissing) {
		t.Errorf("it returns %v", err)
	}
	must(t, b.load(first))
	must(t, b.load(second))
	agree(t, a, b)
}

// Runs of one log are often refused for one reason.
func TestImport_givesEachReasonOnce(t *testing.T) {
	var in intake
	for i := range 3 * refusedMax {
		in.refuse(fmt.Errorf("log a: %w", ErrMissing))
		in.refuse(fmt.Errorf("log %d: %w", i, ErrInvalid))
	}
	if len(in.refused) != refusedMax || !errors.Is(in.refused[0], ErrMissing) {
		t.Fatalf("%d reasons: %v", len(in.refused), in.refused)
	}
	for _, err := range in.refused[1:] {
		if !errors.Is(err, ErrInvalid) {
			t.Errorf("again: %v", err)
		}
	}
}

// A file may end anywhere: what is there was merged, and the error says what to do.
func TestImport_ofAFileThatIsCut(t *testing.T) {
	a := newPeer(t, nil)
	for i := range int64(5) {
		a.put(task{ID: i, Title: "title"})
		must(t, a.space.Seal())
	}
	file := a.export(nil)
	step := 1
	if testing.Short() {
		step = 7
	}
	b := newPeer(t, a)
	for n := 0; n < len(file); n += step {
		if err := b.load(file[:n]); !errors.Is(err, ErrCut) {
			t.Fatalf("the first %d of %d bytes: %v", n, len(file), err)
		}
	}
	if len(file)-step > 0 && b.get(3) == nil {
		t.Error("what precedes the cut was not merged")
	}
	compareWithModel(t, b)
	must(t, b.load(file))
	agree(t, a, b)
	if err := b.load(append(file, 'x')); err != nil {
		t.Errorf("bytes behind the file: %v", err)
	}
}

func TestImport_findsEachDamagedByte(t *testing.T) {
	a := newPeer(t, nil)
	a.put(task{ID: 1, Title: "title"})
	file := a.export(nil)
	b := newPeer(t, a)
	for i := range file {
		for _, bit := range []byte{1, 0x80} {
			bad := bytes.Clone(file)
			bad[i] ^= bit
			err := b.load(bad)
			if err == nil {
				t.Fatalf("byte %d of %d is damaged, and nobody noticed", i, len(file))
			}
			if i > len(fileMagic) && !errors.Is(err, stoat.ErrCorrupt) && !errors.Is(err, ErrCut) {
				t.Errorf("byte %d of %d is damaged: %v", i, len(file), err)
			}
		}
	}
	must(t, b.load(file))
	agree(t, a, b)
}

// frames returns the frames of a file, each with its own bytes.
func frames(t *testing.T, file []byte) (all [][]byte) {
	t.Helper()
	f, err := newFrameReader(bytes.NewReader(file))
	must(t, err)
	for at := int(f.at); at < len(file); at = int(f.at) {
		_, _, err := f.read()
		must(t, err)
		all = append(all, file[at:f.at])
	}
	return all
}

// Each checksum covers the frames before, so none can be left out, repeated or moved.
func TestImport_findsFramesThatWereMoved(t *testing.T) {
	a := newPeer(t, nil)
	for i := range int64(3) {
		a.put(task{ID: i})
		must(t, a.space.Seal())
	}
	file := a.export(nil)
	all := frames(t, file)
	head := file[:len(fileMagic)+1]
	b := newPeer(t, a)
	for i := range all {
		without := append(append([][]byte{head}, all[:i]...), all[i+1:]...)
		twice := append(append([][]byte{head}, all[:i+1]...), all[i:]...)
		for _, parts := range [][][]byte{without, twice} {
			err := b.load(bytes.Join(parts, nil))
			last := i == len(all)-1
			if err == nil && !last || err != nil && !errors.Is(err, stoat.ErrCorrupt) && !last {
				t.Errorf("frame %d of %d: %v", i, len(all), err)
			}
		}
	}
}

func TestImport_refusesWhatIsNotAnExportOfThisSpace(t *testing.T) {
	a := newPeer(t, nil)
	opts := a.options()
	opts.random = rand.NewChaCha8([32]byte{9})
	other, err := Create(a.db, "other", opts)
	must(t, err)
	err = Import(context.Background(), other, bytes.NewReader(a.export(nil)))
	if !errors.Is(err, ErrOtherSpace) {
		t.Errorf("another space: %v", err)
	}
	if err := a.load([]byte("PK\x03\x04 some other kind of file")); err == nil {
		t.Error("another kind of file is imported")
	}
	newer := append([]byte(fileMagic), fileVersion+1)
	if err := a.load(newer); !errors.Is(err, ErrNewer) {
		t.Errorf("a newer version: %v", err)
	}
}

func TestImport_refusesFramesThatNobodyWrites(t *testing.T) {
	a := newPeer(t, nil)
	about := wire.AppendBytes(append([]byte{}, a.space.id[:]...), "")
	for name, c := range map[string]struct {
		kind byte
		p    []byte
		want error
	}{
		"half a proof":         {fileProof, []byte{1}, ErrInvalid},
		"a type of the future": {fileHolds + 1, nil, ErrNewer},
		"a second space":       {fileSpace, about, wire.ErrMalformed},
		"a wrong count":        {fileEnd, []byte{1}, wire.ErrMalformed},
		"half a checkpoint":    {fileCheckpoint, about, wire.ErrMalformed},
		"half a run":           {fileRun, about, wire.ErrMalformed},
		"heads without end":    {fileHeads, []byte{255, 255, 1}, wire.ErrMalformed},
	} {
		var file bytes.Buffer
		f, err := newFrameWriter(&file)
		must(t, err)
		must(t, f.write(fileSpace, about))
		must(t, f.write(c.kind, c.p))
		must(t, f.write(fileEnd, []byte{0}))
		if err := a.load(file.Bytes()); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	huge := append(append([]byte(fileMagic), fileVersion), fileSpace,
		255, 255, 255, 255, 255, 255, 255, 255, 255, 1)
	if err := a.load(huge); !errors.Is(err, stoat.ErrCorrupt) {
		t.Errorf("a frame of 2^64 bytes: %v", err)
	}
}

func TestExport_endsWithItsContext(t *testing.T) {
	a := newPeer(t, nil)
	a.put(task{ID: 1})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := Export(ctx, a.space, io.Discard); !errors.Is(err, context.Canceled) {
		t.Errorf("it returns %v", err)
	}
	if err := Import(ctx, a.space, bytes.NewReader(a.export(nil))); !errors.Is(err, context.Canceled) {
		t.Errorf("it returns %v", err)
	}
}

func FuzzImport(f *testing.F) {
	a := newPeer(f, nil)
	a.put(task{ID: 1, Title: "title"})
	f.Add(a.export(nil))
	f.Add([]byte(fileMagic))
	b := newPeer(f, a)
	f.Fuzz(func(t *testing.T, file []byte) {
		_ = b.load(file) // it must not panic, and not allocate without bound
		_, _, _ = ReadVector(bytes.NewReader(file))
	})
}

// A file is also too early if all of its logs begin in it, and follow others that do not.
func TestImport_ofALogThatFollowsOneWhichIsMissing(t *testing.T) {
	a := newPeer(t, nil)
	b, c := newPeer(t, a), newPeer(t, a)
	a.put(task{ID: 1})
	meet(t, a, b)
	since := a.vector()
	b.put(task{ID: 2})
	must(t, b.space.Seal())
	delete(since, b.logID())
	if err := c.load(b.export(since)); !errors.Is(err, ErrMissing) {
		t.Errorf("got %v", err)
	}
	must(t, c.load(a.export(nil)))
	must(t, c.load(b.export(since)))
	agree(t, b, c)
}
