package engine

import (
	"bytes"
	"database/sql"
	"encoding/binary"
	"strings"
	"testing"
)

func open(t testing.TB, e Engine, dir string, o Options) Store {
	t.Helper()
	s, err := e.Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func key(o Order, sequence int) []byte {
	k := make([]byte, KeyBytes)
	o.Put(k, uint64(sequence))
	return k
}

func TestOpen_worksWithoutSync(t *testing.T) {
	for _, e := range All() {
		if e.Missing != "" {
			continue
		}
		t.Run(e.Name, func(t *testing.T) {
			o := Options{Order: BigEndian}
			dir := t.TempDir()
			s := open(t, e, dir, o)
			must(t, s.Append([][]byte{[]byte("zero"), []byte("one")}))
			must(t, s.Put(key(o.Order, 2), []byte("two"), false))
			must(t, s.Close())
			s = open(t, e, dir, o)
			size, err := s.GetMany([][]byte{key(o.Order, 2), key(o.Order, 0), key(o.Order, 1)})
			must(t, err)
			if size != len("zeroonetwo") {
				t.Errorf("the values have %d bytes", size)
			}
			must(t, s.Close())
		})
	}
}

func TestOpen_worksWithTheLeastCache(t *testing.T) {
	for _, e := range All() {
		if e.Missing != "" {
			continue
		}
		t.Run(e.Name, func(t *testing.T) {
			dir := t.TempDir()
			for range 2 {
				s := open(t, e, dir, Options{Order: BigEndian, Cache: LeastCache})
				value := bytes.Repeat([]byte("seven"), 100_000)
				must(t, s.Put(key(BigEndian, 7), value, false))
				got, found, err := s.Copy(key(BigEndian, 7), nil)
				must(t, err)
				if !found || !bytes.Equal(got, value) {
					t.Errorf("found is %t, with %d bytes", found, len(got))
				}
				must(t, s.Close())
			}
		})
	}
}

// A transaction larger than any buffer must still be one transaction.
func TestAppend_takesManyMegabytesAtOnce(t *testing.T) {
	for _, e := range All() {
		if e.Missing != "" || strings.HasPrefix(e.Name, "badger") { // it has a limit below that
			continue
		}
		t.Run(e.Name, func(t *testing.T) {
			s := open(t, e, t.TempDir(), Options{Order: LittleEndian})
			values := make([][]byte, 600)
			for i := range values {
				values[i] = bytes.Repeat([]byte{byte(i)}, 10_000+i)
			}
			must(t, s.Append(values))
			for i, value := range values {
				got, found, err := s.Copy(key(LittleEndian, i), nil)
				must(t, err)
				if !found || !bytes.Equal(got, value) {
					t.Fatalf("message %d: found %v, with %d bytes", i, found, len(got))
				}
			}
			must(t, s.Close())
		})
	}
}

func TestOrder_putsTheFirstByteWhereItSays(t *testing.T) {
	if got := binary.BigEndian.Uint64(key(BigEndian, 258)); got != 258 {
		t.Errorf("big-endian key of 258 is %d", got)
	}
	if got := key(LittleEndian, 258); !bytes.Equal(got, []byte{2, 1, 0, 0, 0, 0, 0, 0}) {
		t.Errorf("little-endian key of 258 is %x", got)
	}
}

func TestFind_knowsEveryEngineOnce(t *testing.T) {
	seen := make(map[string]bool)
	for _, e := range All() {
		if seen[e.Name] {
			t.Errorf("two engines are named %s", e.Name)
		}
		seen[e.Name] = true
	}
	if e, err := Find("bbolt"); err != nil || e.Name != "bbolt" {
		t.Errorf("found %v, %v", e.Name, err)
	}
	if _, err := Find("nothing"); err == nil {
		t.Error("an unknown engine is no error")
	}
}

func TestSQLite_sharesItsCacheAmongItsConnections(t *testing.T) {
	e, err := Find("sqlite")
	must(t, err)
	store := open(t, e, t.TempDir(), Options{Order: BigEndian, Cache: 64 << 20}).(*sqliteStore)
	for _, db := range []*sql.DB{store.writer, store.reader} {
		var size int
		must(t, db.QueryRow("PRAGMA cache_size").Scan(&size))
		if want := -64 << 10 / (1 + sqliteReaders()); size != want { // negative, it counts KiB
			t.Errorf("cache_size %d instead of %d", size, want)
		}
	}
	must(t, store.Close())
}

func TestSQLite_hasTheSettingsThatItsNameSays(t *testing.T) {
	for name, journal := range map[string]string{"sqlite": "delete", "sqlite-wal": "wal"} {
		for sync, level := range map[bool]int{true: 2, false: 0} {
			e, err := Find(name)
			must(t, err)
			store := open(t, e, t.TempDir(), Options{Sync: sync, Order: BigEndian}).(*sqliteStore)
			for _, db := range []*sql.DB{store.writer, store.reader} {
				var mode string
				var synchronous, timeout int
				must(t, db.QueryRow("PRAGMA journal_mode").Scan(&mode))
				must(t, db.QueryRow("PRAGMA synchronous").Scan(&synchronous))
				must(t, db.QueryRow("PRAGMA busy_timeout").Scan(&timeout))
				if mode != journal || synchronous != level || timeout != 10_000 {
					t.Errorf("%s, synced %v: %s, %d, %d", name, sync, mode, synchronous, timeout)
				}
			}
			must(t, store.Close())
		}
	}
}
