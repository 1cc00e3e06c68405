package replica

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stoatdb/stoat"
)

// entries returns the entries of a log.
func (p *peer) entries(log LogID) (all []*Entry) {
	p.t.Helper()
	must(p.t, p.db.View(func(tx *stoat.Tx) error {
		for e, err := range p.space.Entries(tx, log, 0, 1<<62) {
			if err != nil {
				return err
			}
			all = append(all, e)
		}
		return nil
	}))
	return all
}

// heads returns the ends of all logs.
func (p *peer) heads() (all []Head) {
	p.t.Helper()
	must(p.t, p.db.View(func(tx *stoat.Tx) (err error) {
		all, err = p.space.Heads(tx)
		return err
	}))
	return all
}

func TestEntries_sayWhatEachTransactionDid(t *testing.T) {
	a := newPeer(t, nil)
	b := newPeer(t, a)
	a.put(task{ID: 1, Title: "title", Votes: 3, Tags: []string{"x"}, Prices: map[string]int64{"y": 5}})
	meet(t, a, b)
	b.edit(func(v *task) { v.Votes -= 4; v.Tags = nil; v.Note = "note"; v.Best = 7 })
	b.update(func(tx *stoat.Tx) error { return b.tasks.Delete(tx, 1) })
	meet(t, a, b)
	var text []string
	for _, h := range a.heads() {
		if h.Entries != h.Sealed || h.Device == a.space.device.ID() != h.Own {
			t.Errorf("head %+v", h)
		}
		for i, e := range a.entries(h.Log) {
			if e.Log != h.Log || e.Seq != uint64(i) || e.Device != h.Device || e.Size == 0 {
				t.Errorf("entry %d: %+v", i, e)
			}
			line := fmt.Sprintf("%s %d:", e.Kind, len(e.Seen))
			for _, c := range e.Changes {
				line += fmt.Sprintf(" %s %v %v", c.Collection, c.Key, c.Deleted)
				for _, f := range c.Fields {
					line += fmt.Sprintf(" %s %s %v%v%v%v", f.Field, f.Rule, f.Value, f.Removed, f.Added, f.Values)
				}
			}
			text = append(text, line)
		}
	}
	want := []string{
		"genesis 0:",
		"data 0: tasks [1] false best max 0[][][] first min 0[][][] prices entries <nil>[][y][5] " +
			"tags elements <nil>[][x][] title set title[][][] votes sum 3[][][]",
		"genesis 0:",
		"data 1: tasks [1] false best max 7[][][] note keep note[][][] tags elements <nil>[x][][] " +
			"votes sum -4[][][]",
		"data 0: tasks [1] true",
	}
	if !slices.Equal(text, want) {
		t.Errorf("got  %q\nwant %q", text, want)
	}
}

func TestEntries_ofAnUnknownLog(t *testing.T) {
	a := newPeer(t, nil)
	must(t, a.db.View(func(tx *stoat.Tx) error {
		for _, err := range a.space.Entries(tx, LogID{1}, 0, 1) {
			if err == nil {
				t.Error("it yields an entry")
			}
		}
		return nil
	}))
}

// A space without a device shows everything and writes nothing.
func TestOpen_withoutADeviceReads(t *testing.T) {
	a := newPeer(t, nil)
	b := newPeer(t, a)
	a.put(task{ID: 1, Title: "title"})
	p := *a
	var err error
	p.space, err = Open(a.db, "team", nil)
	must(t, err)
	p.open()
	if p.get(1) == nil || p.root() != a.root() || len(p.heads()) != 1 {
		t.Error("it does not show what is there")
	}
	err = p.db.Update(func(tx *stoat.Tx) error { return p.tasks.Put(tx, &task{ID: 2}) })
	if !errors.Is(err, errNoDevice) {
		t.Errorf("a write returns %v", err)
	}
	if err := p.space.Seal(); !errors.Is(err, errNoDevice) {
		t.Errorf("Seal returns %v", err)
	}
	must(t, a.space.Seal())
	must(t, b.load(p.export(nil)))
	b.put(task{ID: 3})
	must(t, p.load(b.export(nil)))
	agree(t, a, b, &p)
	_, err = Dial(t.Context(), "127.0.0.1:1", p.space.device, DeviceID{})
	if !errors.Is(err, errNoDevice) {
		t.Errorf("Dial returns %v", err)
	}
}
