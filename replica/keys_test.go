package replica

import (
	"math"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
)

// manyKeys is a record with a key of each kind that a collection may have.
type manyKeys struct {
	Bool   bool      `stoat:"bool,key"`
	Int    int64     `stoat:"int,key"`
	Uint   uint64    `stoat:"uint,key"`
	Float  float64   `stoat:"float,key"`
	String string    `stoat:"string,key"`
	Bytes  []byte    `stoat:"bytes,key"`
	Time   time.Time `stoat:"time,key"`
	UUID   [16]byte  `stoat:"uuid,key"`
	Text   string    `stoat:"text"`
}

// Parts with keys of any kind count, at both ends of each kind.
func TestCollection_keysOfEveryKindCount(t *testing.T) {
	p := newPeer(t, nil)
	all, err := Collection[manyKeys](p.space, "named", nil)
	if err != nil {
		t.Fatal(err)
	}
	records := []manyKeys{
		{},
		{
			Bool: true, Int: math.MaxInt64, Uint: math.MaxUint64, Float: math.Inf(1), String: "\x00\xff",
			Bytes: []byte{0, 0xFF, 0}, Time: time.Unix(1<<40, 999_999_999), UUID: [16]byte{15: 0xFF},
		},
		{Int: math.MinInt64, Float: math.Inf(-1), Time: time.Unix(-1<<40, 1), String: "\x00"},
		{Int: -1, Uint: 255, Float: math.NaN(), Bytes: []byte{}, Time: time.Unix(0, 0)},
		{Int: -256, Uint: 256, Float: math.Copysign(0, -1), String: "é", Time: time.Unix(-1, 0)},
	}
	q := newPeer(t, p)
	copies, err := Collection[manyKeys](q.space, "named", nil)
	if err != nil {
		t.Fatal(err)
	}
	p.update(func(tx *stoat.Tx) error {
		for i := range records {
			records[i].Text = "a"
			if err := all.Put(tx, &records[i]); err != nil {
				return err
			}
		}
		return nil
	})
	meet(t, p, q)
	if p.root() != q.root() {
		t.Error("the replicas differ")
	}
	n := 0
	err = q.db.View(func(tx *stoat.Tx) error {
		for v, err := range q.space.Void(tx) {
			t.Errorf("void: %v, %v", v, err)
		}
		for _, err := range copies.All(tx) {
			if n++; err != nil {
				return err
			}
		}
		return nil
	})
	if n != len(records) || err != nil {
		t.Errorf("%d of %d records have come: %v", n, len(records), err)
	}
}
