package table

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand"
	"sync"
	"testing"

	"github.com/stoatdb/stoat/internal/block"
	"github.com/stoatdb/stoat/internal/corrupt"
)

// noise returns n entries with values of about 400 bytes that do not compress.
func noise(n int) []entry {
	rng := rand.New(rand.NewSource(1))
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("\x10%06d", i)
	}
	entries := puts(keys...)
	for i := range entries {
		entries[i].value = make([]byte, 390+rng.Intn(20))
		rng.Read(entries[i].value)
	}
	return entries
}

// trustedTable returns a table in files that verify what is read.
func trustedTable(t testing.TB, limit int64, entries []entry) (*Table, *verifiedFS) {
	t.Helper()
	table := mode{read: trusted, limit: limit}.open(t, entries)
	return table, table.config.FS.(*verifiedFS)
}

// valuesIn returns how many blocks have all their values in memory.
func valuesIn(table *Table) (n int) {
	r := table.reader.Load()
	for i := range r.slots {
		if r.slots[i].values.Load() != nil {
			n++
		}
	}
	return n
}

func TestApart_readsLittleMoreThanTheValue(t *testing.T) {
	entries := noise(800)
	table, fs := trustedTable(t, 1<<20, entries)
	at := len(entries) / 2
	checkEntry(t, table, entries[at])
	before := fs.read.Load()
	checkEntry(t, table, entries[at+2])
	if read := fs.read.Load() - before; read != int64(len(entries[at+2].value)) {
		t.Errorf("a get of %d bytes reads %d", len(entries[at+2].value), read)
	}
	before = fs.read.Load()
	checkEntry(t, table, entries[at+200]) // in another block, of which the keys are not in memory
	if read := fs.read.Load() - before; read > 4<<10 {
		t.Errorf("the first get from a block reads %d bytes", read)
	}
}

func TestApart_endsWhenTheBlockIsWorthReading(t *testing.T) {
	entries := noise(800)
	for _, c := range []struct {
		name        string
		step        int
		least, most int // gets until the block is in memory
	}{{"in order", 1, 1, 3}, {"here and there", 3, 4, 4}} {
		table, _ := trustedTable(t, 1<<20, entries)
		gets := 0
		for i := 420; gets == 0 || valuesIn(table) == 0; i += c.step {
			checkEntry(t, table, entries[i])
			if gets++; gets > c.most {
				t.Fatalf("%s: after %d gets, the block is not in memory", c.name, gets)
			}
		}
		if gets < c.least {
			t.Errorf("%s: after %d gets, all of the block is in memory", c.name, gets)
		}
	}
}

// Gets from far more blocks than the cache has room for leave in it what is there.
func TestApart_readsFewBlocksWhereThereIsNoRoom(t *testing.T) {
	entries := noise(8000)
	table, fs := trustedTable(t, 200<<10, entries)
	rng := rand.New(rand.NewSource(1))
	const gets = 4000
	for range gets {
		checkEntry(t, table, entries[rng.Intn(len(entries))])
	}
	if read := fs.read.Load() / gets; read > 4<<10 {
		t.Errorf("a get of 400 bytes reads %d", read)
	}
}

func TestApart_readsEachBlockOnceInOrder(t *testing.T) {
	entries := noise(4000)
	table, fs := trustedTable(t, 200<<10, entries)
	readAll(t, table, entries)
	if read := fs.read.Load(); read > table.config.Size*21/20 {
		t.Errorf("gets of all values of a file of %d bytes read %d", table.config.Size, read)
	}
}

func TestApart_onlyInFilesThatVerify(t *testing.T) {
	entries := noise(300)
	for _, read := range []reading{mapped, noMap} {
		table := mode{read: read, limit: 1 << 20}.open(t, entries)
		checkEntry(t, table, entries[100])
		place := table.reader.Load().index.places[0]
		image := readFile(t, table.config.FS, testPath, table.config.Size)
		image[place.values+1000] ^= 1
		damagedTable := tableOf(t, image, table.config.Size, NewCache(1<<20))
		if read == noMap {
			damagedTable.config.FS = noMapFS{damagedTable.config.FS}
		}
		_, _, err := find(damagedTable, entries[10].key)
		if !errors.Is(err, corrupt.Err) {
			t.Errorf("reading %v: another value of the block is damaged, and the error is %v", read, err)
		}
	}
}

func TestApart_namesTheDamage(t *testing.T) {
	entries := noise(300)
	table, fs := trustedTable(t, 0, entries)
	checkEntry(t, table, entries[0])
	image := readFile(t, fs, testPath, table.config.Size)
	image[table.reader.Load().index.places[0].values+4] ^= 1 // as only a bug could write it
	lies := tableOf(t, image, table.config.Size, NewCache(0))
	lies.config.FS = &verifiedFS{Files: lies.config.FS}
	if _, ok, err := find(lies, entries[0].key); ok || !errors.Is(err, corrupt.Err) {
		t.Errorf("values that are not as long as their block say: %v, %v", ok, err)
	}
}

func TestApart_isSafeForConcurrentUse(t *testing.T) {
	entries := noise(2000)
	table, _ := trustedTable(t, 100<<10, entries)
	var group sync.WaitGroup
	for seed := range int64(4) {
		group.Go(func() {
			rng := rand.New(rand.NewSource(seed))
			for range 500 {
				i := rng.Intn(len(entries) - 10)
				e, ok, err := find(table, entries[i].key)
				if !ok || err != nil || !bytes.Equal(e.Value, entries[i].value) {
					t.Errorf("entry %d: %v, %v", i, ok, err)
				}
				var c Cursor
				c.Init(table, &Scope{Read: ReadValues, Once: true, Limit: 5, Scratch: new(block.Scratch)})
				for n, ok := i, c.Seek(entries[i].key); ok && n < i+5; n, ok = n+1, c.Next() {
					if !bytes.Equal(c.Value(), entries[n].value) {
						t.Errorf("the cursor has another value of entry %d", n)
					}
				}
				if c.Err() != nil {
					t.Error(c.Err())
				}
			}
		})
	}
	group.Wait()
}
