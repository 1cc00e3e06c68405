package docs

import (
	"bytes"
	"compress/flate"
	"encoding/json"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"testing"
)

// written returns documents of a kind, of about so many bytes each.
func written(t testing.TB, k kind, seed uint64, size, count int) [][]byte {
	t.Helper()
	w := newWriter(rand.New(rand.NewPCG(seed, 0)))
	documents, err := w.documents(k, size, count)
	if err != nil {
		t.Fatal(err)
	}
	return documents
}

func TestDocuments_areTheSameForOneSeedOnly(t *testing.T) {
	for _, k := range kinds() {
		once := bytes.Join(written(t, k, 1, 4_200, 5), nil)
		again := bytes.Join(written(t, k, 1, 4_200, 5), nil)
		other := bytes.Join(written(t, k, 2, 4_200, 5), nil)
		if !bytes.Equal(once, again) || bytes.Equal(once, other) {
			t.Errorf("%s: the same again: %t, with another seed: %t", k.name,
				bytes.Equal(once, again), bytes.Equal(once, other))
		}
	}
}

func TestDocuments_haveTheLengthAskedFor(t *testing.T) {
	for _, k := range kinds() {
		for _, s := range sizes() {
			for i, d := range written(t, k, 1, s.bytes, 20) {
				if len(d) < s.bytes*shortest/100 || len(d) > s.bytes*(shortest+spread)/100+slack {
					t.Errorf("%s %s: document %d has %d bytes", k.name, s.name, i, len(d))
				}
			}
		}
	}
}

// A table of what compression costs says nothing unless texts compress as texts do.
func TestDocuments_compressAsTheirKindDoes(t *testing.T) {
	least := map[string]float64{"json": 0.15, "source": 0.1, "log": 0.15, "random": 1}
	most := map[string]float64{"json": 0.45, "source": 0.45, "log": 0.45, "random": 1.01}
	for _, k := range kinds() {
		var packed bytes.Buffer
		w, err := flate.NewWriter(&packed, flate.DefaultCompression)
		if err != nil {
			t.Fatal(err)
		}
		document := written(t, k, 1, 41_000, 1)[0]
		if _, err := w.Write(document); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		share := float64(packed.Len()) / float64(len(document))
		if share < least[k.name] || share > most[k.name] {
			t.Errorf("%s becomes %.2f of its length", k.name, share)
		}
	}
}

func TestDocuments_areWhatTheirKindSays(t *testing.T) {
	for _, d := range written(t, kinds()[0], 1, 4_200, 20) {
		if !json.Valid(d) {
			t.Fatalf("no JSON: %s", d)
		}
	}
	for _, d := range written(t, kinds()[1], 1, 4_200, 20) {
		if _, err := parser.ParseFile(token.NewFileSet(), "", d, 0); err != nil {
			t.Fatalf("%v in\n%s", err, d)
		}
	}
	for _, d := range written(t, kinds()[2], 1, 4_200, 20) {
		if d[len(d)-1] != '\n' || !bytes.HasPrefix(d, []byte("2026-")) {
			t.Fatalf("no whole lines: %s", d)
		}
	}
}
