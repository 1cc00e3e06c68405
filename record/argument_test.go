package record_test

import (
	"errors"
	"math"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
)

// octet is a byte of another name.
type octet byte

// measured has fields that take arguments of several types.
type measured struct {
	ID     [16]octet `stoat:"id,key"`
	Narrow float32   `stoat:"narrow,index"`
	Wide   float64   `stoat:"wide,index"`
	Level  *int      `stoat:"level,index"`
	Blob   []octet   `stoat:"blob,index"`
}

func TestArguments_areOfTheFieldsKind(t *testing.T) {
	db := openMemory(t)
	c := mustOpen[measured](t, db, "measured", nil)
	level := 5
	first := &measured{ID: [16]octet{1}, Narrow: float32(math.Inf(1)), Wide: 3, Level: &level,
		Blob: []octet("x")}
	put(t, db, c, first, &measured{ID: [16]octet{2}, Narrow: 0.1})
	view(t, db, func(tx *stoat.Tx) error {
		for _, q := range []struct {
			where record.Predicate
			want  uint64
		}{
			{record.Eq("id", [16]octet{1}), 1},
			{record.Eq("id", [16]byte{1}), 1},
			{record.Eq("narrow", 1e300), 0},
			{record.Lt("narrow", 1e300), 1},
			{record.Eq("narrow", math.Inf(1)), 1},
			{record.Eq("narrow", 0.1), 1},
			{record.Eq("wide", uint(3)), 1},
			{record.Eq("wide", 3), 1},
			{record.Eq("level", nil), 1},
			{record.Eq("blob", []octet("x")), 1},
			{record.Eq("blob", []byte("x")), 1},
		} {
			n, err := c.Query().Where(q.where).Count(tx)
			if n != q.want || err != nil {
				t.Errorf("%s: %d, %v, want %d", q.where, n, err, q.want)
			}
		}
		for _, p := range []*int{&level, nil} {
			_, err := c.Query().Where(record.Eq("level", p)).Count(tx)
			wantError(t, err, "field level", "pass the value, or nil")
		}
		id, err := record.Field[[16]octet](tx, c, [16]octet{1}, "id")
		wantEqual(t, "id", id, first.ID)
		if err != nil {
			return err
		}
		blob, err := record.Field[[]octet](tx, c, [16]octet{1}, "blob")
		wantEqual(t, "blob", blob, first.Blob)
		return err
	})
}

func TestCollection_refusesMistakes(t *testing.T) {
	db := openMemory(t)
	c := mustOpen[measured](t, db, "measured", nil)
	err := db.Update(func(tx *stoat.Tx) error { return c.Put(tx, nil) })
	wantError(t, err, `collection "measured"`, "nil")
	_, err = record.Open[struct{}](db, "empty", nil)
	wantError(t, err, `collection "empty"`, "no fields")
	view(t, db, func(tx *stoat.Tx) error {
		err := c.Put(tx, &measured{})
		wantError(t, err, `collection "measured": write in an Update`, "write in an Update")
		if !errors.Is(err, stoat.ErrReadOnly) {
			t.Errorf("put: %v", err)
		}
		return nil
	})
	type hidden struct {
		ID  int `stoat:"id,key"`
		age int `stoat:"age"`
	}
	_, err = record.Open[hidden](db, "hidden", nil)
	wantError(t, err, "field age", "export it")
	_ = hidden{}.age
}
