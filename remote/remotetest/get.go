package remotetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/stoatdb/stoat/remote/objstore"
)

func getChecks() []Check {
	return []Check{
		{"Get returns ranges, cut at the ends of the object", getRanges},
		{"Get counts a negative offset from the end", getSuffixes},
		{"Get of a range beyond the end is empty", getBeyond},
		{"Get of any random range returns its bytes", getRandom},
		{"Get of an absent object is ErrNotExist", getAbsent},
		{"the caller owns what Get returns", getOwned},
		{"GetTo writes what Get returns", streamRanges},
		{"GetTo of an absent object is ErrNotExist", streamAbsent},
		{"GetTo ends with an error of the writer, and says what that took", streamFull},
	}
}

// wantRanges compares Get for all combinations of offsets and lengths with the bytes of an object.
func wantRanges(ctx context.Context, s objstore.Store, body []byte, offs, ns []int64) error {
	if err := s.Create(ctx, "data/1", body); err != nil {
		return err
	}
	for _, off := range offs {
		for _, n := range ns {
			got, err := s.Get(ctx, "data/1", off, n)
			if err != nil {
				return fmt.Errorf("Get(%d, %d) of %d bytes: %w", off, n, len(body), err)
			}
			start, end := objstore.Range(int64(len(body)), off, n)
			if !bytes.Equal(got, body[start:end]) {
				return fmt.Errorf("Get(%d, %d) of %q is %q, want %q", off, n, body, got,
					body[start:end])
			}
		}
	}
	return nil
}

func getRanges(ctx context.Context, s objstore.Store, _ *rand.Rand) error {
	return wantRanges(ctx, s, []byte("0123456789"), []int64{0, 1, 8, 9},
		[]int64{-1, 0, 1, 2, 9, 10, 11, math.MaxInt64})
}

func getSuffixes(ctx context.Context, s objstore.Store, _ *rand.Rand) error {
	return wantRanges(ctx, s, []byte("0123456789"),
		[]int64{-1, -2, -9, -10, -11, -1000, math.MinInt64},
		[]int64{-1, 0, 1, 2, 9, 10, 11, math.MaxInt64})
}

func getBeyond(ctx context.Context, s objstore.Store, _ *rand.Rand) error {
	return wantRanges(ctx, s, []byte("0123456789"), []int64{10, 11, 1 << 40, math.MaxInt64 - 1},
		[]int64{-1, 0, 1, 10})
}

func getRandom(ctx context.Context, s objstore.Store, rng *rand.Rand) error {
	body := randomBytes(rng, 1+rng.IntN(3000))
	var offs, ns []int64
	for range 5 {
		offs = append(offs, rng.Int64N(7000)-3500)
		ns = append(ns, rng.Int64N(3500)-1)
	}
	return wantRanges(ctx, s, body, offs, ns)
}

func getAbsent(ctx context.Context, s objstore.Store, _ *rand.Rand) error {
	if err := createAll(ctx, s, "log/1", "log/3"); err != nil {
		return err
	}
	for _, name := range []string{"log/2", "log", "log/1/2", "lo", "log/11", "other/1"} {
		for _, r := range [][2]int64{{0, -1}, {0, 0}, {0, 10}, {5, 10}, {-5, -1}} {
			_, err := s.Get(ctx, name, r[0], r[1])
			what := fmt.Sprintf("Get(%s, %d, %d)", name, r[0], r[1])
			if err := wantError(what, err, objstore.ErrNotExist); err != nil {
				return err
			}
		}
	}
	return nil
}

func getOwned(ctx context.Context, s objstore.Store, _ *rand.Rand) error {
	if err := createAll(ctx, s, "log/1"); err != nil {
		return err
	}
	first, err := s.Get(ctx, "log/1", 0, -1)
	if err != nil {
		return err
	}
	clear(first)
	_ = append(first[:2], "other"...)
	return wantBody(ctx, s, "log/1", []byte("log/1"))
}

func streamRanges(ctx context.Context, s objstore.Store, rng *rand.Rand) error {
	body := randomBytes(rng, 1+rng.IntN(200_000))
	if err := s.Create(ctx, "data/1", body); err != nil {
		return err
	}
	size := int64(len(body))
	for _, off := range []int64{0, 1, size / 2, size - 1, size, size + 1, 1 << 40} {
		for _, n := range []int64{0, 1, size / 3, size - 1, size, size + 1, math.MaxInt64} {
			var got bytes.Buffer
			written, err := objstore.GetTo(ctx, s, "data/1", off, n, &got)
			if err != nil {
				return fmt.Errorf("GetTo(%d, %d) of %d bytes: %w", off, n, size, err)
			}
			start, end := objstore.Range(size, off, n)
			if written != end-start || !bytes.Equal(got.Bytes(), body[start:end]) {
				return fmt.Errorf("GetTo(%d, %d) of %d bytes says %d and writes %d, want those from %d "+
					"to %d", off, n, size, written, got.Len(), start, end)
			}
		}
	}
	return nil
}

func streamAbsent(ctx context.Context, s objstore.Store, _ *rand.Rand) error {
	if err := createAll(ctx, s, "log/1", "log/3"); err != nil {
		return err
	}
	for _, n := range []int64{0, 10} {
		written, err := objstore.GetTo(ctx, s, "log/2", 0, n, new(bytes.Buffer))
		if err := wantError("GetTo(log/2)", err, objstore.ErrNotExist); err != nil {
			return err
		}
		if written != 0 {
			return fmt.Errorf("GetTo of an absent object says that it has written %d bytes", written)
		}
	}
	return nil
}

// full is a writer that takes no more than some bytes.
type full struct {
	has  []byte
	room int
}

var errFull = errors.New("no room is left")

func (f *full) Write(p []byte) (n int, err error) {
	n = min(len(p), f.room)
	f.has = append(f.has, p[:n]...)
	if f.room -= n; n < len(p) {
		err = errFull
	}
	return n, err
}

func streamFull(ctx context.Context, s objstore.Store, rng *rand.Rand) error {
	body := randomBytes(rng, 100_000)
	if err := s.Create(ctx, "data/1", body); err != nil {
		return err
	}
	for _, room := range []int{0, 1, 50_000, len(body) - 1} {
		w := full{room: room}
		written, err := objstore.GetTo(ctx, s, "data/1", 0, int64(len(body)), &w)
		if err := wantError("GetTo to a full disk", err, errFull); err != nil {
			return err
		}
		if written != int64(room) || !bytes.Equal(w.has, body[:room]) {
			return fmt.Errorf("GetTo says that %d bytes were written, and it was %d", written, room)
		}
	}
	return nil
}
