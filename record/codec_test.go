package record_test

import (
	"encoding/gob"
	"errors"
	"math/big"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
)

// The types of collections whose records no layout can hold.
type (
	node struct {
		ID    int64    `stoat:"id,key"`
		Label string   `stoat:"label,unique"`
		Left  *node    `stoat:"left"`
		Kids  []node   `stoat:"kids"`
		Any   any      `stoat:"any"`
		Count big.Int  `stoat:"count"`
		Limit *big.Int `stoat:"limit"`
		Place place    `stoat:"place"`
		*nodeBase
	}
	nodeBase struct{ Base string }
	place    struct {
		City  string         `stoat:"city,index"`
		Extra map[string]any `stoat:"extra"`
	}
	signal struct {
		ID    int64        `stoat:"id,key"`
		Value complex128   `stoat:"value"`
		More  []complex64  `stoat:"more"`
		Any   any          `stoat:"any"`
		Next  *signal      `stoat:"next"`
		Big   *big.Float   `stoat:"big"`
		Deep  [][]any      `stoat:"deep"`
		Power float64      `stoat:"power,index"`
		Error *stoat.Range `stoat:"range"`
	}
)

func TestCodec_storesWhatOnlyItCanHold(t *testing.T) {
	for _, codec := range []record.Codec{record.CodecJSON, record.CodecGob} {
		t.Run(codec.String(), func(t *testing.T) {
			gob.Register(map[string]any{})
			db := openMemory(t)
			c := mustOpen(t, db, "nodes", &record.Options[node]{Codec: codec})
			want := &node{ID: 1, Label: "root", Any: "text", Count: *big.NewInt(1 << 60),
				Left: &node{ID: 2, Label: "left", Any: true}, Kids: []node{{ID: 3, Any: 0.5}},
				Place: place{"Ulm", map[string]any{"a": "b"}}}
			want.Limit = new(big.Int).Lsh(big.NewInt(1), 200)
			put(t, db, c, want)
			c = mustOpen(t, db, "nodes", &record.Options[node]{Codec: codec})
			view(t, db, func(tx *stoat.Tx) error {
				got, err := c.Query().Where(record.Eq("place.city", "Ulm")).First(tx)
				ok(t, err)
				if got.Any != want.Any || got.Left.Any != true || got.Kids[0].Any != 0.5 ||
					got.Count.Cmp(&want.Count) != 0 || got.Limit.Cmp(want.Limit) != 0 ||
					got.Place.Extra["a"] != "b" {
					t.Errorf("got %+v, want %+v", got, want)
				}
				anything, err := record.Field[any](tx, c, 1, "any")
				if anything != "text" || err != nil {
					t.Errorf("the field any is %v, %v", anything, err)
				}
				_, err = c.Query().Where(record.Eq("any", "text")).First(tx)
				wantError(t, err, "field any", "cannot be compared")
				return c.Verify(tx)
			})
		})
	}
}

func TestCodecGob_storesComplexNumbers(t *testing.T) {
	db := openMemory(t)
	c := mustOpen(t, db, "signals", &record.Options[signal]{Codec: record.CodecGob})
	put(t, db, c, &signal{ID: 1, Value: 1 + 2i, More: []complex64{3i}, Any: 7, Power: 5,
		Next: &signal{Value: 4}, Big: big.NewFloat(0.5), Deep: [][]any{{1, "x"}}})
	view(t, db, func(tx *stoat.Tx) error {
		got, err := c.By("power").Get(tx, 5)
		ok(t, err)
		if got.Value != 1+2i || got.More[0] != 3i || got.Next.Value != 4 || got.Deep[0][1] != "x" {
			t.Errorf("got %+v", got)
		}
		return c.Verify(tx)
	})
	_, err := record.Open[signal](db, "binary", nil)
	wantError(t, err, "field value", "complex128", "CodecGob")
	c = mustOpen(t, db, "json", &record.Options[signal]{Codec: record.CodecJSON})
	err = db.Update(func(tx *stoat.Tx) error { return c.Put(tx, &signal{ID: 1}) })
	wantError(t, err, "key 1", "complex128")
}

func TestOpen_refusesIndexesOfWhatHasNoOrder(t *testing.T) {
	type bad struct {
		ID  int `stoat:"id,key"`
		Any any `stoat:"any,index"`
	}
	type badKey struct {
		ID complex128 `stoat:"id,key"`
	}
	db := openMemory(t)
	_, err := record.Open(db, "x", &record.Options[bad]{Codec: record.CodecGob})
	wantError(t, err, "index any", "interface {}")
	_, err = record.Open(db, "x", &record.Options[badKey]{Codec: record.CodecGob})
	wantError(t, err, "field id", "complex128", "keys must be")
	view(t, db, func(tx *stoat.Tx) error {
		if _, err := tx.Bucket([]byte("x")); !errors.Is(err, stoat.ErrBucketNotFound) {
			t.Errorf("a refused type has made a bucket: %v", err)
		}
		return nil
	})
}
