package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/feed"
	"github.com/stoatdb/stoat/internal/commands/intake"
)

// margaretLog is the three files of a log.
type margaretLog struct {
	data, ofst, jrnl []byte
}

// add appends an entry.
func (l *margaretLog) add(payload string, redacted bool) {
	l.ofst = binary.BigEndian.AppendUint64(l.ofst, uint64(len(l.data)))
	length := int64(len(payload))
	if redacted {
		length, payload = -length, strings.Repeat("\x00", len(payload))
	}
	l.data = append(binary.BigEndian.AppendUint64(l.data, uint64(length)), payload...)
	l.jrnl = binary.BigEndian.AppendUint64(nil, uint64(len(l.ofst)/lengthBytes-1))
}

// write writes the log to a new folder.
func (l *margaretLog) write(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string][]byte{"data": l.data, "ofst": l.ofst, "jrnl": l.jrnl} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// sampleLog returns a log of n entries, of which the third is redacted and the fifth empty.
func sampleLog(n int) *margaretLog {
	l := new(margaretLog)
	for i := range n {
		payload := fmt.Sprintf("entry %d", i)
		if i == 4 {
			payload = ""
		}
		l.add(payload, i == 2)
	}
	return l
}

// readLog returns the entries of a log, number=payload, and the findings, without a database.
func readLog(t testing.TB, l *margaretLog) (entries []string, findings string) {
	t.Helper()
	r, err := openMargaret(l.write(t))
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	err = r.seek(intake.Position{})
	for err == nil {
		var e sourceEntry
		at := r.position().Record
		if e, err = r.next(); err == nil && !e.redacted {
			entries = append(entries, fmt.Sprintf("%d=%s", at, e.value))
		}
	}
	if !errors.Is(err, errImported) {
		t.Error(err)
	}
	return entries, strings.Join(r.findings(), "; ")
}

// imported imports a log and returns what readLog does.
func imported(t testing.TB, l *margaretLog) (entries []string, findings string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "db")
	r := summary(t, "import", "-margaret", l.write(t), "-feed", "log", dir)
	db, err := stoat.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	log, err := feed.Open[[]byte](db, "log", nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.View(func(tx *stoat.Tx) error {
		for e, err := range log.Query().All(tx) {
			if err != nil {
				return err
			}
			entries = append(entries, fmt.Sprintf("%d=%s", e.Seq, e.Value))
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if int(r.Entries) != len(entries) {
		t.Errorf("the summary says %+v of %q", r, entries)
	}
	return entries, strings.Join(r.Findings, "; ")
}

// wantEntries returns what the first n entries of a sampleLog are imported as.
func wantEntries(n int) (entries []string) {
	for i := range n {
		switch i {
		case 2:
		case 4:
			entries = append(entries, "4=")
		default:
			entries = append(entries, fmt.Sprintf("%d=entry %d", i, i))
		}
	}
	return entries
}

func TestImportMargaret_keepsNumbersAndLeavesRedactedOut(t *testing.T) {
	got, findings := imported(t, sampleLog(7))
	equal(t, fmt.Sprint(got), fmt.Sprint(wantEntries(7)))
	equal(t, findings, "consistent: data, ofst and jrnl agree on 7 entries")
	db := filepath.Join(t.TempDir(), "db")
	text := output(t, "import", "-margaret", sampleLog(7).write(t), db)
	if !strings.Contains(text, "redacted in the source, and numbers without an entry here: 1\n") {
		t.Errorf("it prints %q", text)
	}
	got, findings = imported(t, new(margaretLog))
	equal(t, fmt.Sprint(got)+findings, "[]consistent: data, ofst and jrnl agree on 0 entries")
}

func TestImportMargaret_reportsATailTornAnywhere(t *testing.T) {
	whole := sampleLog(6)
	for n := range whole.data {
		l := *whole
		l.data = l.data[:n]
		keep := 0 // the entries that are whole
		for keep < 5 && int(binary.BigEndian.Uint64(whole.ofst[8*(keep+1):])) <= n {
			keep++
		}
		got, findings := readLog(t, &l)
		equal(t, fmt.Sprint(n, got), fmt.Sprint(n, wantEntries(keep)))
		want := fmt.Sprintf("torn tail: ofst names %s that data does not have whole",
			countedEntries(int64(6-keep)))
		if !strings.Contains(findings, want) || strings.Contains(findings, "consistent") {
			t.Errorf("data cut to %d bytes: %s", n, findings)
		}
	}
	l := *whole
	l.data = l.data[:len(l.data)-1]
	inDatabase, _ := imported(t, &l)
	equal(t, fmt.Sprint(inDatabase), fmt.Sprint(wantEntries(5)))
	for n := range whole.ofst {
		l := *whole
		l.ofst = l.ofst[:n]
		got, findings := readLog(t, &l)
		equal(t, fmt.Sprint(n, got), fmt.Sprint(n, wantEntries(n/8)))
		for _, want := range []string{"torn tail: ", " behind the last whole entry that ofst names",
			fmt.Sprintf("jrnl counts 6 entries, and ofst names %d", n/8)} {
			if !strings.Contains(findings, want) {
				t.Errorf("ofst cut to %d bytes: %s", n, findings)
			}
		}
		if strings.Contains(findings, "of a number") != (n%8 > 0) {
			t.Errorf("ofst cut to %d bytes: %s", n, findings)
		}
	}
	for n := range whole.jrnl {
		l := *whole
		l.jrnl = l.jrnl[:n]
		got, findings := readLog(t, &l)
		equal(t, fmt.Sprint(got), fmt.Sprint(wantEntries(6)))
		if !strings.HasPrefix(findings, "jrnl") {
			t.Errorf("jrnl cut to %d bytes: %s", n, findings)
		}
	}
}

func TestImportMargaret_countsWhatIsBehindTheLastOffset(t *testing.T) {
	l := sampleLog(5)
	l.ofst = l.ofst[:8*3]
	_, findings := imported(t, l)
	want := "torn tail: 23 bytes of data behind the last whole entry that ofst names, which look " +
		"like 1 entry that ofst does not name; jrnl counts 5 entries, and ofst names 3"
	equal(t, findings, want) // an empty entry may as well be a hole in the file
}

func TestImportMargaret_refusesDamage(t *testing.T) {
	const twisted = "one of the files is damaged"
	for name, c := range map[string]struct {
		damage func(l *margaretLog)
		want   string
	}{
		"ofst":   {func(l *margaretLog) { l.ofst[15]++ }, "ofst says 16, but that is not where"},
		"longer": {func(l *margaretLog) { l.data[15+1] = 1 }, "the next one begins at 30"},
		"smallest": {func(l *margaretLog) { copy(l.data[15:], "\x80\x00\x00\x00\x00\x00\x00\x00") },
			"the next one begins at 30"},
	} {
		t.Run(name, func(t *testing.T) {
			l := sampleLog(6)
			c.damage(l)
			dir, db := l.write(t), filepath.Join(t.TempDir(), "db")
			fails(t, execute(t, "", "import", "-margaret", dir, db), exitError,
				dir+" entry 1, data offset 15: ", c.want, twisted)
			equal(t, output(t, "keys", db), "")
		})
	}
}

func TestImportMargaret_goesOnBehindTheLastCommit(t *testing.T) {
	dir := sampleLog(10).write(t)
	goesOn(t, &importFlags{margaret: dir, into: &path{"log"}}, "-margaret", dir, "-bucket", "log")
}
