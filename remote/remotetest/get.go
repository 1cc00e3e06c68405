package remotetest

import (
	"bytes"
	"context"
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
