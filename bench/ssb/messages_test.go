package ssb

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
)

func newData(t testing.TB, kind string, seed uint64, n int) *messages {
	t.Helper()
	g, err := newGenerator(kind, seed)
	if err != nil {
		t.Fatal(err)
	}
	m, err := newMessages(n, g.longest())
	if err != nil {
		t.Fatal(err)
	}
	m.fill(g)
	return m
}

func TestMessages_haveTheStudysLength(t *testing.T) {
	m := newData(t, dataMessages, 1, 20_000)
	if average := float64(len(m.buf)) / float64(m.len()); average < 397 || average > 398 {
		t.Errorf("%.2f bytes on average", average)
	}
	var longest int
	for i := range m.len() {
		longest = max(longest, m.size(i))
	}
	if longest > messageBytes {
		t.Errorf("a message of %d bytes", longest)
	}
}

func TestMessages_areJSONOfTheStudysForm(t *testing.T) {
	m := newData(t, dataMessages, 7, 1000)
	for i := range m.len() {
		var v struct {
			Previous, Author string
			Sequence         uint64
			Timestamp        uint64
			Hash             string
			Content          struct{ Type, Text string }
		}
		decoder := json.NewDecoder(bytes.NewReader(m.value(i)))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&v); err != nil {
			t.Fatalf("message %d: %v", i, err)
		}
		previous, isPrevious := strings.CutPrefix(v.Previous, "%")
		previous, isHash := strings.CutSuffix(previous, ".sha256")
		author, isAuthor := strings.CutPrefix(v.Author, "@")
		author, isKey := strings.CutSuffix(author, ".ed25519")
		if !isPrevious || !isHash || !isAuthor || !isKey {
			t.Fatalf("message %d: previous %q, author %q", i, v.Previous, v.Author)
		}
		for text, size := range map[string]int{previous: 32, author: 32, v.Content.Text: 100} {
			if b, err := base64.StdEncoding.DecodeString(text); err != nil || len(b) != size {
				t.Fatalf("message %d: %q is not the base64 of %d bytes", i, text, size)
			}
		}
		if v.Sequence >= 10_000 || v.Hash != "sha256" || v.Content.Type != "post" {
			t.Fatalf("message %d: %s", i, m.value(i))
		}
		var indented bytes.Buffer
		if err := json.Indent(&indented, m.value(i), "", "\t"); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(indented.Bytes(), m.value(i)) {
			t.Fatalf("message %d is not indented with tabs:\n%s", i, m.value(i))
		}
	}
}

func TestMessages_dependOnTheSeedAlone(t *testing.T) {
	for _, kind := range []string{dataMessages, dataRandom} {
		a, b, c := newData(t, kind, 1, 50), newData(t, kind, 1, 50), newData(t, kind, 2, 50)
		if !bytes.Equal(a.buf, b.buf) {
			t.Errorf("%s: one seed gave two data sets", kind)
		}
		if bytes.Equal(a.buf, c.buf) {
			t.Errorf("%s: two seeds gave one data set", kind)
		}
	}
}

func TestMessages_lieSideBySide(t *testing.T) {
	m := newData(t, dataRandom, 1, 10)
	values := m.appendValues(nil, 0, m.len())
	if got := bytes.Join(values, nil); !bytes.Equal(got, m.buf) || len(got) != 10*valueBytes {
		t.Errorf("%d values of %d bytes together", len(values), len(got))
	}
	for i, v := range values {
		if len(v) != m.size(i) {
			t.Errorf("value %d has %d bytes, not %d", i, len(v), m.size(i))
		}
	}
}

func TestGenerator_rejectsAnUnknownDataSet(t *testing.T) {
	if _, err := newGenerator("poems", 1); err == nil {
		t.Error("no error")
	}
}
