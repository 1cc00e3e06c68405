package replica

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/chunk"
	"github.com/stoatdb/stoat/replica/internal/session"
)

// leaves returns the hashes of the chunks of the state at the checkpoint by which a replica goes.
func (p *peer) leaves() (all []chunk.Tree) {
	p.t.Helper()
	must(p.t, endpoint{p.space}.view(func(t *txn) error {
		o, err := t.offering()
		for i := 0; err == nil && o != nil && i < len(o.trees); i++ {
			all = append(all, o.trees[i].leaves)
		}
		return err
	}))
	return all
}

// sameStart fails the test unless a replica has the state of another one at its checkpoint, byte
// for byte, and all that follows.
func sameStart(t *testing.T, from, to *peer) {
	t.Helper()
	must(t, to.verify())
	if x, y := from.leaves(), to.leaves(); len(x) == 0 || !slices.EqualFunc(x, y, slices.Equal) {
		t.Errorf("the chunks of the state are %x instead of %x", y, x)
	}
	agree(t, from, to)
}

// tinyPruned returns a replica with little in it, which has pruned what its checkpoint covers.
func tinyPruned(t *testing.T) *peer {
	t.Helper()
	a := newPeer(t, nil)
	a.put(task{ID: 1, Title: "covered"})
	a.put(task{ID: 1, Title: "covered", Votes: 2})
	must(t, a.checkpoint())
	must(t, a.space.Seal())
	must(t, a.space.Prune())
	a.put(task{ID: 2, Title: "after"})
	return a
}

func TestExport_ofAPrunedReplicaHasItsCheckpoint(t *testing.T) {
	a, b, guest := prunedPeers(t)
	late := newPeer(t, a)
	must(t, late.load(a.export(nil)))
	sameStart(t, a, late)
	late.put(task{ID: 1, Title: "written by the new one"})
	must(t, b.load(late.export(b.vector())))
	together(t, a, b, guest, late)
	third := newPeer(t, a)
	must(t, third.load(late.export(nil)))
	must(t, third.load(late.export(nil))) // again
	sameStart(t, late, third)
}

// A checkpoint is only in files for those who need it.
func TestExportSince_leavesOutTheCheckpoint(t *testing.T) {
	a, b, _ := prunedPeers(t)
	whole, rest := a.export(nil), a.export(b.vector())
	if len(rest)*4 > len(whole) {
		t.Errorf("the rest has %d bytes, and all of it %d", len(rest), len(whole))
	}
	must(t, b.load(whole))
	must(t, a.load(b.export(nil)))
	agree(t, a, b)
}

func TestImport_bringsBackAReplicaThatWasAway(t *testing.T) {
	a, away := newPeer(t, nil), (*peer)(nil)
	away = newGuest(t, a)
	a.grant(away, Write)
	a.grant(away, Read)
	a.put(task{ID: 1, Title: "first"})
	meet(t, a, away)
	a.put(task{ID: 1, Title: "second"})
	a.put(task{ID: 2, Title: "covered"})
	must(t, a.checkpoint())
	must(t, a.space.Seal())
	must(t, a.space.Prune())
	a.put(task{ID: 3, Title: "after"})
	away.put(task{ID: 4, Title: "its own"})
	old := away.export(nil)
	must(t, away.load(a.export(away.vector())))
	must(t, away.verify())
	must(t, a.load(away.export(a.vector())))
	must(t, a.load(old))
	must(t, away.load(old))
	for range 2 {
		meet(t, a, away)
	}
	agree(t, a, away)
	for id, title := range map[int64]string{1: "second", 2: "covered", 3: "after", 4: "its own"} {
		if r := away.get(id); r == nil || r.Title != title {
			t.Errorf("task %d is %+v", id, r)
		}
	}
}

// Readers see nothing or all of the state, wherever the file is cut, and the next file goes on.
func TestImport_ofACheckpointThatIsCut(t *testing.T) {
	a := tinyPruned(t)
	file := a.export(nil)
	step := 1
	if testing.Short() {
		step = 7
	}
	b := newPeer(t, a)
	for n := len(fileMagic) + 1; n < len(file); n += step {
		if err := b.load(file[:n]); !errors.Is(err, ErrCut) {
			t.Fatalf("the first %d of %d bytes: %v", n, len(file), err)
		}
		if r := b.get(1); r != nil && (r.Title != "covered" || r.Votes != 2) {
			t.Fatalf("the first %d of %d bytes: task 1 is %+v", n, len(file), r)
		}
		if b.get(1) == nil && b.get(2) != nil {
			t.Fatalf("the first %d of %d bytes: there is a task without the one before", n, len(file))
		}
	}
	must(t, b.load(file))
	sameStart(t, a, b)
}

func TestImport_findsEachDamagedByteOfACheckpoint(t *testing.T) {
	a := tinyPruned(t)
	file := a.export(nil)
	b := newPeer(t, a)
	step := 1
	if testing.Short() {
		step = 3
	}
	for i := 0; i < len(file); i += step {
		bad := bytes.Clone(file)
		bad[i] ^= 1
		err := b.load(bad)
		if err == nil || i > len(fileMagic) && !errors.Is(err, stoat.ErrCorrupt) &&
			!errors.Is(err, ErrCut) {
			t.Fatalf("byte %d of %d is damaged: %v", i, len(file), err)
		}
	}
	must(t, b.load(file))
	sameStart(t, a, b)
}

// frame is a frame of a file.
type frame struct {
	kind byte
	p    []byte
}

// contents returns the frames of a file.
func contents(t *testing.T, file []byte) (all []frame) {
	t.Helper()
	f, err := newFrameReader(bytes.NewReader(file))
	must(t, err)
	for {
		kind, p, err := f.read()
		must(t, err)
		if all = append(all, frame{kind, p}); kind == fileEnd {
			return all
		}
	}
}

// fileOf returns a file with right checksums.
func fileOf(t *testing.T, all []frame) []byte {
	t.Helper()
	var file bytes.Buffer
	f, err := newFrameWriter(&file)
	must(t, err)
	for _, x := range all {
		must(t, f.write(x.kind, x.p))
	}
	return file.Bytes()
}

// Whoever forges a file can make right checksums: what the file says is verified by itself.
func TestImport_refusesAForgedCheckpoint(t *testing.T) {
	a := tinyPruned(t)
	all := contents(t, a.export(nil))
	step := 1
	if testing.Short() {
		step = 11
	}
	b := newPeer(t, a)
	for i := range all {
		for at := 0; at < len(all[i].p); at += step {
			bad := slices.Clone(all)
			bad[i].p = bytes.Clone(bad[i].p)
			bad[i].p[at] ^= 1
			err := b.load(fileOf(t, bad))
			if all[i].kind == fileCheckpoint || all[i].kind == fileChunk {
				if err == nil || b.get(1) != nil || b.get(2) != nil {
					t.Fatalf("byte %d of frame %d, of type %d, is forged: %v", at, i, all[i].kind, err)
				}
			} else if b.get(1) != nil {
				if r := b.get(1); r.Title != "covered" || r.Votes != 2 {
					t.Fatalf("byte %d of frame %d, of type %d, is forged: task 1 is %+v", at, i,
						all[i].kind, r)
				}
				b = newPeer(t, a)
			}
		}
	}
	must(t, b.load(fileOf(t, all)))
	sameStart(t, a, b)
}

// The frames of a checkpoint may not be lost, repeated, moved, or those of another one.
func TestImport_refusesFramesOfACheckpointInWrongPlaces(t *testing.T) {
	a := tinyPruned(t)
	whole := contents(t, a.export(nil))
	a.put(task{ID: 5, Title: "more"})
	must(t, a.checkpoint())
	must(t, a.space.Seal())
	must(t, a.space.Prune())
	other := contents(t, a.export(nil))
	of := func(all []frame, kind byte) int {
		i := slices.IndexFunc(all, func(f frame) bool { return f.kind == kind })
		if i < 0 {
			t.Fatalf("there is no frame of type %d", kind)
		}
		return i
	}
	offer, first, run := of(whole, fileCheckpoint), of(whole, fileChunk), of(whole, fileRun)
	last := run - 1
	swapped := slices.Clone(whole)
	swapped[last] = other[of(other, fileRun)-1]
	if bytes.Equal(swapped[last].p, whole[last].p) {
		t.Fatal("the chunks are the same")
	}
	exchanged := slices.Clone(whole)
	exchanged[offer] = other[of(other, fileCheckpoint)]
	for name, bad := range map[string][]frame{
		"no offer":       slices.Delete(slices.Clone(whole), offer, offer+1),
		"no first chunk": slices.Delete(slices.Clone(whole), first, first+1),
		"no last chunk":  slices.Delete(slices.Clone(whole), last, last+1),
		"two offers":     slices.Insert(slices.Clone(whole), offer, whole[offer]),
		"an offer too late": slices.Insert(slices.Delete(slices.Clone(whole), offer, offer+1), last,
			whole[offer]),
		"runs first":        slices.Insert(slices.Clone(whole), offer, whole[run]),
		"another chunk":     swapped,
		"another offer":     exchanged,
		"a chunk of nobody": slices.Insert(slices.Clone(whole), first, frame{fileChunk, []byte{9, 9}}),
		"nothing but it":    {whole[0], whole[offer], {fileEnd, []byte{0}}},
	} {
		b := newPeer(t, a)
		if err := b.load(fileOf(t, bad)); err == nil || b.get(1) != nil || b.get(2) != nil {
			t.Errorf("%s: %v, and task 1 is %v", name, err, b.get(1))
		}
	}
	again := newPeer(t, a)
	must(t, again.load(fileOf(t, slices.Insert(slices.Clone(whole), first, whole[first]))))
	must(t, again.load(fileOf(t, other)))
	sameStart(t, a, again)
	must(t, again.load(fileOf(t, whole))) // an older one does no harm
	sameStart(t, a, again)
}

// A start goes on with what a session or another file has brought.
func TestImport_goesOnWithAStartOfASession(t *testing.T) {
	a := tinyPruned(t)
	b := newPeer(t, a)
	o, reason, err := endpoint{a.space}.Offer(b.reader())
	must(t, errors.Join(reason, err))
	lacks, reason, err := endpoint{b.space}.Begin(o, DeviceID{})
	must(t, errors.Join(reason, err))
	p, err := endpoint{a.space}.Chunk(b.reader(), o.Checkpoint, lacks[0])
	must(t, err)
	next := packed(t, p)
	must(t, endpoint{b.space}.Stage([]chunk.Packed{next}))
	all := contents(t, a.export(nil))
	g := session.Given{ChunkID: lacks[0], Form: next.Form}
	all = slices.DeleteFunc(all, func(f frame) bool {
		return f.kind == fileChunk && bytes.Equal(f.p, g.Append(nil))
	})
	must(t, b.load(fileOf(t, all)))
	sameStart(t, a, b)
}
