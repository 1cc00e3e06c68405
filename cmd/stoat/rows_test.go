package main

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// rowsOf returns all rows of a text, with err in the place of each bad one.
func rowsOf(t testing.TB, next func() ([]string, error)) (rows []string) {
	t.Helper()
	for {
		row, err := next()
		var bad *badEntry
		var syntax *csv.ParseError
		switch {
		case errors.Is(err, io.EOF):
			return rows
		case errors.As(err, &bad), errors.As(err, &syntax):
			rows = append(rows, "err")
		case err != nil:
			t.Fatal(err)
		default:
			rows = append(rows, fmt.Sprintf("%q", row))
		}
	}
}

func TestRows_areThoseOfPackageCSV(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	for range 5000 {
		var b strings.Builder
		for range random.IntN(30) {
			b.WriteByte("a\"\";;\n\n x"[random.IntN(9)])
		}
		theirs := csv.NewReader(strings.NewReader(b.String()))
		theirs.Comma, theirs.FieldsPerRecord = ';', -1
		want := rowsOf(t, theirs.Read)
		r := &rowReader{
			r: bufio.NewReaderSize(strings.NewReader(b.String()), 16), delimiter: []byte(";"), quotes: true,
		}
		got := rowsOf(t, func() ([]string, error) {
			row, err := r.next()
			texts := make([]string, len(row))
			for i, field := range row {
				texts[i] = string(field)
			}
			return texts, err
		})
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("seed %d: of %q the rows are %v, want %v", seed, b.String(), got, want)
		}
		lines := int64(strings.Count(b.String(), "\n"))
		if b.Len() > 0 && !strings.HasSuffix(b.String(), "\n") {
			lines++
		}
		if r.offset != int64(b.Len()) || r.lines != lines {
			t.Fatalf("seed %d: at the end of %q it is at offset %d, line %d", seed, b.String(), r.offset,
				r.lines)
		}
	}
}
