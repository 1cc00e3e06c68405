package sync

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
)

// item is a record of some 200 bytes with two indexes. Programs in other languages read it as JSON.
type item struct {
	ID     int64  `json:"id" stoat:"id,key"`
	Owner  string `json:"owner" stoat:"owner,index"`
	Status int32  `json:"status" stoat:"status,index"`
	Title  string `json:"title" stoat:"title"`
	Text   string `json:"text" stoat:"text"`
	Count  int64  `json:"count" stoat:"count"`
	Done   bool   `json:"done" stoat:"done"`
}

// Sizes of the texts: a compressor of text halves them, as it does with what people write.
const (
	words     = 1_000 // that occur in texts
	textBytes = 140
)

// newItems returns the records with numbers in [0, n). The same seed gives the same records.
func newItems(seed uint64, n int) []item {
	random := rand.New(rand.NewPCG(seed, 0))
	vocabulary := make([]string, words)
	for i := range vocabulary {
		word := make([]byte, 3+random.IntN(6))
		for j := range word {
			word[j] = 'a' + byte(random.IntN(26))
		}
		vocabulary[i] = string(word)
	}
	items := make([]item, n)
	for i := range items {
		var text strings.Builder
		for text.Len() < textBytes {
			text.WriteString(vocabulary[random.IntN(words)] + " ")
		}
		items[i] = item{
			ID: int64(i), Owner: fmt.Sprintf("owner %d", random.IntN(100)),
			Status: int32(random.IntN(10)), Title: fmt.Sprintf("Title of item %d", i),
			Text: text.String()[:textBytes], Count: random.Int64N(1 << 20), Done: i%2 == 0,
		}
	}
	return items
}

// writeItems writes records to a new file, one JSON object a line.
func writeItems(path string, items []item) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	lines := json.NewEncoder(w)
	lines.SetEscapeHTML(false)
	for i := 0; i < len(items) && err == nil; i++ {
		err = lines.Encode(&items[i])
	}
	if err == nil {
		err = w.Flush()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}

// readItems reads the records with numbers in [from, to) of a file that writeItems wrote.
func readItems(path string, from, to int) ([]item, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	items := make([]item, 0, to-from)
	lines := json.NewDecoder(bufio.NewReader(f))
	for i := range to {
		var it item
		if err := lines.Decode(&it); err != nil {
			return nil, fmt.Errorf("record %d of %s: %w", i, path, err)
		}
		if i >= from {
			items = append(items, it)
		}
	}
	return items, nil
}

// digest is a hash of records, in the order of their numbers. All programs compute the same.
type digest struct {
	Records int    `json:"records"`
	Sum     string `json:"sum"` // hexadecimal SHA-256
}

// digestOf returns the digest of records.
func digestOf(items []item) digest {
	h := sha256.New()
	for i := range items {
		it := &items[i]
		fmt.Fprintf(h, "%d|%s|%d|%s|%s|%d|%t\n",
			it.ID, it.Owner, it.Status, it.Title, it.Text, it.Count, it.Done)
	}
	return digest{len(items), hex.EncodeToString(h.Sum(nil))}
}
