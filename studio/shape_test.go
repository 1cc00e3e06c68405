package studio

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stoatdb/stoat"
)

func TestShape_showsTablesAndNames(t *testing.T) {
	db, dir := onDisk(t)
	update(t, db, func(tx *stoat.Tx) error {
		outer, err := tx.CreateBucket([]byte("outer"))
		ok(t, err)
		inner, err := outer.CreateBucket([]byte("<b>"))
		ok(t, err)
		ok(t, inner.Put([]byte("\xff\x01"), nil))
		return tx.Put([]byte("a"), nil)
	})
	ok(t, db.Flush())
	ok(t, db.Put([]byte("later"), nil))
	a := get[shapeAnswer](browse(t, New(db, nil)), "shape")
	if len(a.Memtables) != 1 || a.Memtables[0].Bytes <= 0 {
		t.Errorf("memtables: %+v", a.Memtables)
	}
	var texts []string
	for _, run := range a.Runs {
		for _, table := range run.Tables {
			texts = append(texts, table.First.Text, table.Last.Text)
			if table.Bytes == 0 || table.Entries == 0 || table.Number == 0 {
				t.Errorf("%+v", table)
			}
		}
	}
	got := strings.Join(texts, ", ")
	if !strings.Contains(got, "catalog: outer,") || !strings.Contains(got, "a, outer/<b>/0xff01") {
		t.Errorf("places: %s", got)
	}
	h, err := Follow(dir, nil, nil)
	ok(t, err)
	followed := get[shapeAnswer](browse(t, h), "shape")
	equal(t, len(followed.Runs), len(a.Runs))
	ok(t, h.Close())
}

func TestShape_sumsUpNeighbours(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for _, n := range []int{0, 1, tablesShown - 1, tablesShown, tablesShown + 1, 7777} {
		var run stoat.RunInfo
		for i := range n {
			run.Tables = append(run.Tables, stoat.TableInfo{
				Number: rng.Uint64(), Bytes: 10, RawBytes: 20, Entries: 3, Tombstones: 1,
				First: stoat.Place{Key: fmt.Appendf(nil, "%05d a", i)},
				Last:  stoat.Place{Key: fmt.Appendf(nil, "%05d b", i)},
			})
		}
		row := summarizeRun("young", run, bucketNames{})
		equal(t, len(row.Tables), min(n, tablesShown))
		equal(t, len(row.Tables)+row.More, n)
		var tables, size int
		before := []byte{}
		for _, r := range row.Tables {
			tables += max(1, r.Tables)
			size += int(r.Bytes)
			equal(t, r.Raw == 2*r.Bytes && r.Entries == 3*r.Tombstones, true)
			if bytes.Compare(before, r.First.Base64) >= 0 ||
				bytes.Compare(r.First.Base64, r.Last.Base64) >= 0 {
				t.Errorf("after %q comes %+v", before, r)
			}
			before = r.Last.Base64
			ends := placeRowOf(run.Tables[tables-1].Last, bucketNames{}).Base64
			equal(t, string(before), string(ends))
		}
		equal(t, tables, n)
		equal(t, size, 10*n)
	}
	many := stoat.Shape{
		Young: make([]stoat.RunInfo, runsShown+5),
		Jobs: []stoat.JobInfo{
			{Bytes: 1}, {Reason: "grown", Tables: make([]uint64, readsShown+1)},
		},
	}
	a := summarize(many, bucketNames{})
	equal(t, len(a.Runs), runsShown+1)
	equal(t, a.MoreRuns, 5)
	equal(t, a.Jobs[0].Kind+" "+a.Jobs[1].Kind, "flush compaction")
	equal(t, len(a.Jobs[1].Tables), readsShown)
	equal(t, a.Jobs[1].Count, readsShown+1)
}

func TestShape_leavesBucketsUnnamedIfThereAreTooMany(t *testing.T) {
	db := memory(t)
	var first, last uint64
	update(t, db, func(tx *stoat.Tx) error {
		for i := range walkMost + 1 {
			b, err := tx.CreateBucket(binary.BigEndian.AppendUint32(nil, uint32(i)))
			ok(t, err)
			if last = b.ID(); i == 0 {
				first = last
			}
		}
		return nil
	})
	ok(t, db.View(func(tx *stoat.Tx) error {
		names := bucketNames{first: nil, last: nil, 0: nil}
		ok(t, names.find(t.Context(), tx))
		equal(t, names[last] == nil, true)
		equal(t, names[first] != nil, true)
		p := placeRowOf(stoat.Place{Bucket: last, Key: []byte("k")}, names)
		p.name(names)
		equal(t, p.Text, fmt.Sprintf("bucket %d/k", last))
		return nil
	}))
}

func TestPlace_isShortWhateverTheKeyIs(t *testing.T) {
	for _, key := range []string{
		strings.Repeat("x", 60000), strings.Repeat("\xfe", 60000), strings.Repeat("é", 3000),
	} {
		p := placeRowOf(stoat.Place{Key: []byte(key)}, bucketNames{})
		p.name(bucketNames{})
		if len(p.Text) > placeShown+10 || len(p.Base64) > placeShown+9 ||
			!strings.HasSuffix(p.Text, "…") {
			t.Errorf("%d bytes: %q", len(key), p.Text)
		}
	}
}
