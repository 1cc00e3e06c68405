package run

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/valuelog"
	"github.com/stoatdb/stoat/internal/vfs"
)

const (
	separate    = 100 // from so many bytes on a test's values are large
	valueHeader = 48  // bytes of a value file before the first value
)

// withValues returns a configuration that separates values: three of the smallest fill a file.
func withValues(files vfs.Files) Config {
	c := config(files)
	c.Values = Values{Separate: separate, FileBytes: valueHeader + 3*separate}
	return c
}

// valued returns an entry of bucket 7 with a value of n bytes.
func valued(i, n int) entry {
	return put(dataKey(7, fmt.Sprintf("key%05d", i)), strings.Repeat(string(rune('a'+i%26)), n))
}

// point returns an entry of bucket 7 that points to a value of n bytes in a file.
func point(i int, file uint64, n int) entry {
	e := valued(i, n)
	p := valuelog.NewPointer(file, uint64(valueHeader+100*i), []byte(e.value))
	e.kind, e.value = keyspace.KindPointer, string(p.Append(nil))
	return e
}

// resolved returns the entries with pointers into the value files replaced by puts.
func resolved(t testing.TB, fs vfs.Files, files []manifest.ValueFile, entries []entry) []entry {
	t.Helper()
	byNumber := map[uint64]*valuelog.File{}
	for _, f := range files {
		byNumber[f.Number] = valuelog.New(valuelog.Config{
			FS: fs, Path: filepath.Join(testDir, folder.Values.Name(f.Number)), Number: f.Number,
			Database: testDatabase(), Size: int64(f.Size),
		})
	}
	entries = slices.Clone(entries)
	for i := range entries {
		e := &entries[i]
		if file := byNumber[e.pointer().File]; e.kind == keyspace.KindPointer && file != nil {
			value, err := file.Read(e.pointer())
			check(t, err)
			e.kind, e.value = keyspace.KindPut, string(value)
		}
	}
	return entries
}

// checkKeyOrder fails the test unless the files have the values in the order of the entries.
func checkKeyOrder(t testing.TB, files []manifest.ValueFile, entries []entry) {
	t.Helper()
	at, end := 0, uint64(valueHeader)
	for _, e := range entries {
		p := e.pointer()
		if e.kind != keyspace.KindPointer || len(files) == 0 || p.File < files[0].Number {
			continue
		}
		if p.File != files[at].Number {
			at, end = at+1, valueHeader
		}
		if at == len(files) || p.File != files[at].Number || p.Offset != end {
			t.Fatalf("the value of %q is at %+v, want it at %d of file %d of %v", e.key, p, end, at,
				files)
		}
		end += uint64(p.Length)
	}
	if len(files) > 0 && at != len(files)-1 {
		t.Fatalf("pointers lead into %d files of %v", at+1, files)
	}
}

func TestWriter_putsLargeValuesIntoValueFiles(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 20 {
		c := withValues(newFS(t))
		c.Values.FileBytes = valueHeader + rng.Int64N(2000)
		var entries []entry
		for i := range rng.IntN(150) {
			e := valued(i, rng.IntN(3*separate))
			e.until = rng.Uint64N(2) * rng.Uint64N(1000)
			if rng.IntN(5) == 0 {
				e = entry{kind: keyspace.KindDelete, key: e.key}
			}
			entries = append(entries, e)
		}
		output := write(t, c, entries)
		got := readAll(t, c.FS, output.Tables)
		for i, e := range got {
			if (e.kind == keyspace.KindPointer) != (len(entries[i].value) >= separate) {
				t.Fatalf("seed %d: %q is of kind %d", seed, entries[i].value, e.kind)
			}
		}
		checkKeyOrder(t, output.Values, got)
		if got = resolved(t, c.FS, output.Values, got); !slices.Equal(got, entries) {
			t.Fatalf("seed %d: %d entries come back of %d, or others", seed, len(got), len(entries))
		}
		if n := len(list(t, c.FS)); n != len(output.Tables)+len(output.Values) {
			t.Fatalf("seed %d: %d files for %+v", seed, n, output)
		}
		edit := &manifest.Edit{AddBottom: output.Tables, AddValues: output.Values}
		if _, err := new(manifest.Version).Apply(edit); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

func TestWriter_separatesFromTheLimitOn(t *testing.T) {
	for _, limit := range []int{0, 1, separate, valuelog.PointerBytes} {
		for _, n := range []int{0, limit - 1, limit, limit + 1} {
			if n < 0 {
				continue
			}
			c := config(newFS(t))
			c.Values = Values{Separate: limit, FileBytes: 1000}
			output := write(t, c, []entry{valued(1, n)})
			apart := len(output.Values) == 1
			if want := limit > 0 && n >= limit; apart != want || len(output.Tables) != 1 {
				t.Errorf("limit %d: a value of %d bytes is written as %+v", limit, n, output)
			}
		}
	}
}

func TestWriter_cutsValueFilesAtTheirSize(t *testing.T) {
	c := withValues(newFS(t))
	var entries []entry
	for i, n := range []int{100, 100, 100, 100, 50, 100, 99, 101, 700, 299, 100} {
		entries = append(entries, valued(i, n))
	}
	output := write(t, c, entries)
	want := []uint64{300, 301, 700, 399}
	if len(output.Values) != len(want) {
		t.Fatalf("value files are %+v, want %v bytes in them", output.Values, want)
	}
	for i, got := range output.Values {
		f, err := c.FS.Open(filepath.Join(testDir, folder.Values.Name(got.Number)))
		check(t, err)
		size, err := f.Size()
		check(t, err)
		if uint64(size) != got.Size || got.Size != valueHeader+want[i] {
			t.Errorf("%+v has %d bytes, want %d and the header", got, size, want[i])
		}
	}
}

func TestWriter_separatesNothingThatIsLeftOutOrNoValue(t *testing.T) {
	c := withValues(newFS(t))
	c.Dropped = func(id uint64) bool { return id == 3 }
	long := strings.Repeat("x", 2*separate)
	tombstone := entry{kind: keyspace.KindDelete, key: dataKey(4, "t"), value: long, until: 7}
	pointer := point(1, 900, 3000)
	tables := writeTables(t, c, []entry{put(dataKey(3, "a"), long), tombstone, pointer})
	want := []entry{{kind: keyspace.KindDelete, key: tombstone.key}, pointer}
	if got := readAll(t, c.FS, tables); !slices.Equal(got, want) {
		t.Errorf("the table holds %q, want %q", got, want)
	}
	if meta := writeTables(t, withValues(newFS(t)), []entry{tombstone})[0]; meta.StaleAt != 0 {
		t.Errorf("a tombstone is recorded to expire at %d", meta.StaleAt)
	}
}

// relocated returns pointers into three files, of which 901 and 903 are to be rewritten, and what
// they should become.
func relocated() (entries, want []entry) {
	for i := range 120 {
		file, n := uint64(901+i%3), separate+i
		if i%4 == 0 {
			n = 1 + i%separate // what was large when it was written
		}
		e := point(i, file, n)
		switch {
		case i%10 == 9:
			e = valued(i, n)
		case i%11 == 10:
			e = entry{kind: keyspace.KindDelete, key: e.key}
		case i%5 == 0:
			e.until = uint64(i + 1)
		}
		entries = append(entries, e)
		if e.kind == keyspace.KindPointer && file != 902 {
			until := e.until
			e = valued(i, n)
			e.until = until
		}
		want = append(want, e)
	}
	return entries, want
}

func TestWriter_relocatesWhatPointsIntoTheFilesNamed(t *testing.T) {
	entries, want := relocated()
	c := withValues(newFS(t))
	at, reads := 0, map[int]int{}
	c.Values.Relocate = func(file uint64) bool { return file == 901 || file == 903 }
	c.Values.Read = func() ([]byte, error) { reads[at]++; return []byte(want[at].value), nil }
	w := NewWriter(c)
	for ; at < len(entries); at++ {
		_, err := add(w, entries[at:at+1])
		check(t, err)
	}
	output, err := w.Finish()
	check(t, err)
	got := readAll(t, c.FS, output.Tables)
	for i, e := range entries {
		file := e.pointer().File
		if e.kind == keyspace.KindPointer && (file == 901 || file == 903) {
			reads[i]--
		}
		if n := len(want[i].value); want[i].kind == keyspace.KindPut &&
			(got[i].kind == keyspace.KindPointer) != (n >= separate) {
			t.Errorf("entry %d, of %d bytes, became one of kind %d", i, n, got[i].kind)
		}
	}
	for i, n := range reads {
		if n != 0 {
			t.Errorf("entry %d was read %d times too often", i, n)
		}
	}
	files := output.Values
	var own []entry // those that point into the new files
	for _, e := range got {
		if e.pointer().File != 902 {
			own = append(own, e)
		}
	}
	checkKeyOrder(t, files, own)
	if got = resolved(t, c.FS, files, got); !slices.Equal(got, want) || len(files) < 10 {
		t.Errorf("with the value files %v, the tables hold\n%q, want\n%q", files, got, want)
	}
}

func TestWriter_relocatesUpToItsLimit(t *testing.T) {
	for most, want := range map[uint64]int{0: 20, 1: 1, 300: 3, 301: 4, 1900: 19, 5000: 20} {
		c := withValues(newFS(t))
		at := 0
		c.Values.Relocate, c.Values.MostBytes = func(uint64) bool { return true }, most
		c.Values.Read = func() ([]byte, error) { return []byte(valued(at, separate).value), nil }
		w := NewWriter(c)
		for ; at < 20; at++ {
			_, err := add(w, []entry{point(at, 901, separate)})
			check(t, err)
		}
		output, err := w.Finish()
		check(t, err)
		for i, e := range readAll(t, c.FS, output.Tables) {
			if moved := e.pointer().File != 901; moved != (i < want) {
				t.Errorf("with a limit of %d bytes, value %d is relocated: %v", most, i, moved)
			}
		}
	}
}

func TestWriter_relocatesIntoTablesIfNothingIsSeparated(t *testing.T) {
	entries, want := relocated()
	c := config(newFS(t))
	at := 0
	c.Values.Relocate = func(file uint64) bool { return file != 902 }
	c.Values.Read = func() ([]byte, error) { return []byte(want[at].value), nil }
	w := NewWriter(c)
	for ; at < len(entries); at++ {
		_, err := add(w, entries[at:at+1])
		check(t, err)
	}
	output, err := w.Finish()
	check(t, err)
	if got := readAll(t, c.FS, output.Tables); !slices.Equal(got, want) || len(output.Values) > 0 {
		t.Errorf("the tables hold\n%q, want\n%q", got, want)
	}
}

func TestWriter_reportsWhatCannotBeRelocated(t *testing.T) {
	broken := point(3, 901, 200)
	broken.value = broken.value[1:]
	unreadable := func() ([]byte, error) { return nil, errFault }
	for name, c := range map[string]struct {
		last  entry
		read  func() ([]byte, error)
		fault bool
	}{
		"unreadable":       {point(3, 901, 200), unreadable, true},
		"no pointer":       {broken, unreadable, false},
		"no pointer, kept": {broken, nil, false},
	} {
		config := withValues(newFS(t))
		config.Values.Read = c.read
		if c.read != nil {
			config.Values.Relocate = func(uint64) bool { return true }
		}
		w := NewWriter(config)
		_, err := add(w, []entry{valued(1, 200), valued(2, 10), c.last})
		if err == nil || errors.Is(err, errFault) != c.fault {
			t.Errorf("%s: Add says %v", name, err)
		}
		check(t, w.Abort())
		if names := list(t, config.FS); len(names) > 0 {
			t.Errorf("%s: files %v are left", name, names)
		}
	}
}

func TestAbort_removesValueFiles(t *testing.T) {
	for _, n := range []int{1, 2, 3, 4, 6, 7, 50} {
		for _, finish := range []bool{false, true} {
			c := withValues(newFS(t))
			w := NewWriter(c)
			for i := range n {
				_, err := add(w, []entry{valued(i, separate)})
				check(t, err)
			}
			if finish {
				_, err := w.Finish()
				check(t, err)
			}
			kinds := map[string]int{}
			for _, name := range list(t, c.FS) {
				kinds[filepath.Ext(name)]++
			}
			if want := (n + 2) / 3; kinds[".table"] == 0 || kinds[".values"] != want {
				t.Errorf("%d values make files %v, want %d of values", n, kinds, want)
			}
			check(t, w.Abort())
			if names := list(t, c.FS); len(names) > 0 {
				t.Errorf("%d values: files %v are left", n, names)
			}
			check(t, w.Abort()) // there is nothing more to do
		}
	}
}

func TestWriter_reportsWhenAValueFileIsComplete(t *testing.T) {
	c := withValues(newFS(t))
	c.TableBytes = 1 << 20
	w := NewWriter(c)
	for i := range 20 {
		n := separate
		if i%5 == 4 {
			n = 1
		}
		completed, err := add(w, []entry{valued(i, n)})
		check(t, err)
		large := i - i/5 // of those before it
		if want := n == separate && large%3 == 2; (completed == 1) != want {
			t.Errorf("entry %d, after %d values, has completed %d files", i, large, completed)
		}
	}
	check(t, w.Abort())
}

func TestShrinks_tellsTextFromNoise(t *testing.T) {
	noise := make([]byte, 4<<20)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(noise)
	text := bytes.Repeat([]byte("values that people write are of few characters; "), 90_000)
	paged := bytes.Clone(text)  // each starts with a random number
	pages := bytes.Clone(noise) // each starts with the same header
	for at := 0; at+4096 <= len(pages); at += 4096 {
		copy(paged[at:], noise[at:at+16])
		copy(pages[at:], "a page's header ")
	}
	for _, c := range []struct {
		name  string
		value []byte
		want  bool
	}{
		{"noise", noise[:5000], false},
		{"much noise", noise, false},
		{"little noise", noise[:64], false},
		{"less than a sample of noise", noise[:1000], false},
		{"text", text[:5000], true},
		{"much text", text, true},
		{"little text", text[:64], true},
		{"less than a sample of text", text[:1000], true},
		{"text that is too short", text[:63], false},
		{"digits of random bytes", []byte(hex.EncodeToString(noise[:1000])), true},
		{"noise behind text", append(text[:100_000:100_000], noise...), false},
		{"text behind noise", append(noise[:100_000:100_000], text...), true},
		{"text with noise at each page", paged[:4<<20], true},
		{"noise with text at each page", pages, false},
	} {
		if got := Shrinks(c.value); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// Which values go to value files depends on how well they compress, whether or not the run is
// compressed: a later compaction compresses it.
func TestAdd_keepsLargeValuesThatShrinkInTables(t *testing.T) {
	noise := make([]byte, 5<<20)
	_, _ = rand.NewChaCha8([32]byte{2}).Read(noise)
	text := bytes.Repeat([]byte("much the same "), 400_000)
	for _, n := range []int{1000, 5000, 50_000, 70_000, 300_000, 5 << 20} {
		for _, c := range []struct{ shrink, compress bool }{
			{false, false}, {true, false}, {true, true},
		} {
			config := config(newFS(t))
			config.TableBytes, config.Compress, config.SampleBytes = 64<<20, c.compress, 0
			config.Patterns = c.compress
			config.Values = Values{Separate: 1000, Shrink: c.shrink, FileBytes: 64 << 20}
			entries := []entry{
				put(dataKey(7, "noise"), string(noise[:n])), put(dataKey(7, "text"), string(text[:n])),
			}
			output := write(t, config, entries)
			got := readAll(t, config.FS, output.Tables)
			if got[0].kind != keyspace.KindPointer || (got[1].kind == keyspace.KindPut) != c.shrink {
				t.Errorf("%d bytes, %+v: the kinds are %d and %d", n, c, got[0].kind, got[1].kind)
			}
			if small := output.Tables[0].Size < uint64(400+n/2); c.shrink && small != c.compress {
				t.Errorf("%d bytes, %+v: the table has %d bytes", n, c, output.Tables[0].Size)
			}
		}
	}
}
