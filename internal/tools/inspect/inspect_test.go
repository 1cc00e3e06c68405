package inspect

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stoatdb/stoat/internal/checksum"
	"github.com/stoatdb/stoat/internal/fileheader"
	"github.com/stoatdb/stoat/internal/table"
)

var write = flag.Bool("inspect.write", false, "write the golden files anew")

// show prints a file with the given content.
func show(t testing.TB, image []byte, o Options) (text string, damage int) {
	t.Helper()
	fs := newFS(t)
	f := createFile(t, fs, "FILE")
	if _, err := f.WriteAt(image, 0); err != nil && len(image) > 0 {
		t.Fatal(err)
	}
	var out strings.Builder
	damage, err := printFile(fs, &out, "db/FILE", o)
	ok(t, err)
	return out.String(), damage
}

// flipped returns a copy in which a byte differs.
func flipped(image []byte, at int) []byte {
	image = bytes.Clone(image)
	image[at] ^= 0x10
	return image
}

// newer returns a copy with a higher version.
func newer(image []byte) []byte {
	image = bytes.Clone(image)
	image[8]++
	binary.LittleEndian.PutUint32(image[44:], checksum.Of(image[:44]))
	return image
}

// lie returns a table whose index says something else about the number of entries.
func lie(image []byte) []byte {
	image = bytes.Clone(image)
	footer := image[len(image)-table.FooterSize:]
	index := image[binary.LittleEndian.Uint64(footer[56:]) : len(image)-table.FooterSize]
	index[len(index)-32]++
	binary.LittleEndian.PutUint32(footer[76:], checksum.Of(index))
	binary.LittleEndian.PutUint32(footer[84:], checksum.Of(footer[:84]))
	return image
}

// samples returns files of all kinds, with and without damage, by name.
func samples(t testing.TB) map[string][]byte {
	log, man, tab, values := logImage(t), manifestImage(t), tableImage(t), valuesImage(t)
	footer := binary.LittleEndian.Uint64(tab[len(tab)-table.FooterSize+56:])
	return map[string][]byte{
		"log": log, "manifest": man, "table": tab, "values": values,
		"lock":  []byte("4711               \n"),
		"empty": nil, "unknown": []byte("SQLite format 3\x00"), "short": log[:30],
		"encrypted": append([]byte(fileheader.Encrypted), make([]byte, 100)...),
		"log-newer": newer(log), "log-header": flipped(log, 16), "log-magic": flipped(log, 3),
		"log-frame": flipped(log, fileheader.Size+5), "log-payload": flipped(log, fileheader.Size+33),
		"log-torn":        log[:len(log)-110],
		"manifest-header": flipped(man, 24), "manifest-version": flipped(man, 70),
		"manifest-edit": flipped(man, 180), "manifest-torn": man[:len(man)-3],
		"table-header": flipped(tab, 24), "table-magic": append([]byte("12345678"), tab[8:]...),
		"table-values": flipped(tab, fileheader.Size+20), "table-index": flipped(tab, int(footer)),
		"table-footer": flipped(tab, len(tab)-1), "table-short": tab[:len(tab)-10], "table-lie": lie(tab),
		"values-header": flipped(values, 45),
	}
}

func TestFile_printsWhatItAlwaysDid(t *testing.T) {
	for name, image := range samples(t) {
		text, damage := show(t, image, Options{Blocks: true})
		lines, sameDamage := show(t, image, Options{Blocks: true, JSON: true})
		if damage != sameDamage {
			t.Errorf("%s: damaged in %d places, as JSON in %d", name, damage, sameDamage)
		}
		healthy := slices.Contains([]string{"log", "manifest", "table", "values", "lock", "empty",
			"encrypted",
			"log-torn", "manifest-torn"}, name)
		if healthy != (damage == 0) {
			t.Errorf("%s: damaged in %d places", name, damage)
		}
		golden := filepath.Join("testdata", name+".txt")
		if *write {
			ok(t, os.WriteFile(golden, []byte(text+"\n"+lines), 0o666))
		}
		want, err := os.ReadFile(golden)
		ok(t, err)
		if got := text + "\n" + lines; got != string(want) {
			t.Errorf("%s: run the test with -inspect.write and look at the difference; it is now\n%s",
				name, got)
		}
	}
}

func TestFile_keepsTo80Columns(t *testing.T) {
	for name, image := range samples(t) {
		text, _ := show(t, image, Options{Blocks: true})
		for line := range strings.Lines(text) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > columns {
				t.Errorf("%s: a line of %d columns: %s", name, n, line)
			}
		}
	}
}

func TestFile_printsLinesOfJSON(t *testing.T) {
	for name, image := range samples(t) {
		text, damage := show(t, image, Options{Blocks: true, JSON: true})
		var last struct {
			What   string
			Damage int
		}
		for line := range strings.Lines(text) {
			if err := json.Unmarshal([]byte(line), &last); err != nil || last.What == "" {
				t.Errorf("%s: %q: %v", name, line, err)
			}
		}
		if last.What != "end" || last.Damage != damage {
			t.Errorf("%s: the last line is %+v, want the damage %d", name, last, damage)
		}
	}
}

func TestFile_leavesOutEntriesUnlessAsked(t *testing.T) {
	for _, image := range [][]byte{logImage(t), tableImage(t)} {
		text, _ := show(t, image, Options{})
		if strings.Contains(text, "  put") || !strings.Contains(text, "byte") {
			t.Errorf("printed:\n%s", text)
		}
	}
}

// Every flipped byte is seen, but in what nobody reads or vouches for: the values of a value file,
// what a crash may have torn, and what no process depends on.
func TestFile_seesEveryFlippedByte(t *testing.T) {
	flips := 0
	for name, image := range map[string][]byte{
		"log": logImage(t), "manifest": manifestImage(t), "table": tableImage(t),
		"values": valuesImage(t)[:fileheader.Size],
	} {
		whole, _ := show(t, image, Options{})
		for at := range image {
			text, damage := show(t, flipped(image, at), Options{})
			if text == whole {
				t.Errorf("%s: flipping byte %d changes nothing", name, at)
			}
			torn := strings.Contains(text, "torn") || strings.Contains(text, "no frame") ||
				strings.Contains(text, "checksum bad")
			if damage == 0 && (name == "table" || name == "values" || at < fileheader.Size || !torn) {
				t.Errorf("%s: flipping byte %d is not damage:\n%s", name, at, text)
			}
			flips++
		}
	}
	t.Logf("trust: %d flipped bytes", flips)
}

func TestFile_readsWhatIsCutOffAnywhere(t *testing.T) {
	cuts := 0
	for _, image := range [][]byte{logImage(t), manifestImage(t), tableImage(t), valuesImage(t)} {
		for n := range image {
			if _, damage := show(t, image[:n], Options{}); damage == 0 && 0 < n && n < fileheader.Size {
				t.Errorf("%q is not damaged", image[:n])
			}
			cuts++
		}
	}
	t.Logf("trust: %d cut lengths", cuts)
}

func TestFile_reportsAMissingFile(t *testing.T) {
	if _, err := File(&strings.Builder{}, filepath.Join(t.TempDir(), "none"), Options{}); err == nil {
		t.Error("no error for a missing file")
	}
}

// FuzzFile prints any bytes, as they are and as the rest of each kind of file. What is printed must
// fit into lines, and into JSON.
func FuzzFile(f *testing.F) {
	for _, image := range samples(f) {
		f.Add(image)
	}
	f.Fuzz(func(t *testing.T, image []byte) {
		for _, head := range [][]byte{nil, logImage(t), manifestImage(t), tableImage(t)} {
			image := bytes.Clone(image)
			copy(image, head[:min(len(head), fileheader.Size)])
			text, damage := show(t, image, Options{Blocks: true})
			lines, again := show(t, image, Options{Blocks: true, JSON: true})
			if damage != again || !utf8.ValidString(text) {
				t.Fatalf("damaged in %d places, as JSON in %d: %q", damage, again, text)
			}
			for line := range strings.Lines(lines) {
				if !json.Valid([]byte(line)) {
					t.Fatalf("%q", line)
				}
			}
		}
	})
}
