package remotetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/stoatdb/stoat/remote/objstore"
)

// largeBytes is the size of the largest log object.
const largeBytes = 8 << 20

func createChecks() []Check {
	return []Check{
		{"Create stores the bytes", createStores},
		{"Create refuses a taken name", createRefuses},
		{"a refused Create has no effect", refusedChangesNothing},
		{"Create takes a name that Delete has freed", createAfterDelete},
		{"Create keeps no reference to the bytes", createCopies},
		{"Put stores the bytes", putStores},
		{"Put may be repeated", putRepeats},
		{"Create refuses a name that Put has taken", createAfterPut},
		{"Put of a body that is cut off stores nothing", putCutOff},
		{"an empty object exists", emptyExists},
	}
}

func createStores(ctx context.Context, s objstore.Store, rng *rand.Rand) error {
	body := randomBytes(rng, 1000)
	if err := s.Create(ctx, "log/1", body); err != nil {
		return err
	}
	return wantBody(ctx, s, "log/1", body)
}

func createRefuses(ctx context.Context, s objstore.Store, _ *rand.Rand) error {
	if err := s.Create(ctx, "log/1", []byte("first")); err != nil {
		return err
	}
	for _, body := range []string{"other", "first", ""} {
		err := s.Create(ctx, "log/1", []byte(body))
		if err := wantError("the second Create", err, objstore.ErrExists); err != nil {
			return err
		}
	}
	return nil
}

func refusedChangesNothing(ctx context.Context, s objstore.Store, _ *rand.Rand) error {
	if err := s.Create(ctx, "log/1", []byte("first")); err != nil {
		return err
	}
	_ = s.Create(ctx, "log/1", []byte("a longer one"))
	if err := wantBody(ctx, s, "log/1", []byte("first")); err != nil {
		return err
	}
	listed, err := s.List(ctx, "", "", 10)
	if err != nil {
		return err
	}
	if len(listed) != 1 || listed[0].Name != "log/1" || listed[0].Size != 5 {
		return fmt.Errorf("the listing is %v, want log/1 of 5 bytes alone", listed)
	}
	return nil
}

func createAfterDelete(ctx context.Context, s objstore.Store, _ *rand.Rand) error {
	if err := s.Create(ctx, "log/1", []byte("first")); err != nil {
		return err
	}
	if err := s.Delete(ctx, []string{"log/1"}); err != nil {
		return err
	}
	if err := s.Create(ctx, "log/1", []byte("second")); err != nil {
		return err
	}
	return wantBody(ctx, s, "log/1", []byte("second"))
}

func createCopies(ctx context.Context, s objstore.Store, _ *rand.Rand) error {
	body := []byte("before")
	if err := s.Create(ctx, "log/1", body); err != nil {
		return err
	}
	copy(body, "CHANGE")
	got, err := s.Get(ctx, "log/1", 0, -1)
	if err != nil {
		return err
	}
	copy(got, "CHANGE")
	return wantBody(ctx, s, "log/1", []byte("before"))
}

func putStores(ctx context.Context, s objstore.Store, rng *rand.Rand) error {
	body := randomBytes(rng, 5000)
	if err := s.Put(ctx, "data/7f/1", bytes.NewReader(body), 4000); err != nil {
		return err
	}
	return wantBody(ctx, s, "data/7f/1", body[:4000])
}

func putRepeats(ctx context.Context, s objstore.Store, _ *rand.Rand) error {
	body := []byte("always the same")
	for range 3 {
		if err := s.Put(ctx, "state/1", bytes.NewReader(body), int64(len(body))); err != nil {
			return err
		}
		if err := wantBody(ctx, s, "state/1", body); err != nil {
			return err
		}
	}
	listed, err := s.List(ctx, "", "", 10)
	if err != nil {
		return err
	}
	return wantNames("the listing", listed, []string{"state/1"})
}

func createAfterPut(ctx context.Context, s objstore.Store, _ *rand.Rand) error {
	if err := s.Put(ctx, "log/1", bytes.NewReader([]byte("put")), 3); err != nil {
		return err
	}
	err := s.Create(ctx, "log/1", []byte("created"))
	if err := wantError("Create", err, objstore.ErrExists); err != nil {
		return err
	}
	return wantBody(ctx, s, "log/1", []byte("put"))
}

func putCutOff(ctx context.Context, s objstore.Store, _ *rand.Rand) error {
	if s.Put(ctx, "data/1", bytes.NewReader([]byte("short")), 6) == nil {
		return errors.New("six bytes of a body of five were stored")
	}
	_, err := s.Get(ctx, "data/1", 0, -1)
	return wantError("Get", err, objstore.ErrNotExist)
}

func emptyExists(ctx context.Context, s objstore.Store, _ *rand.Rand) error {
	if err := s.Create(ctx, "pin/1", nil); err != nil {
		return err
	}
	if err := s.Put(ctx, "pin/2", bytes.NewReader(nil), 0); err != nil {
		return err
	}
	for _, name := range []string{"pin/1", "pin/2"} {
		for _, r := range [][2]int64{{0, -1}, {0, 0}, {0, 5}, {3, 5}, {-3, -1}, {-3, 2}} {
			got, err := s.Get(ctx, name, r[0], r[1])
			if err != nil || len(got) > 0 {
				return fmt.Errorf("Get(%s, %d, %d) is %q, %w", name, r[0], r[1], got, err)
			}
		}
	}
	err := s.Create(ctx, "pin/1", []byte("x"))
	return wantError("Create", err, objstore.ErrExists)
}

func largeObject(ctx context.Context, s objstore.Store, rng *rand.Rand) error {
	body := make([]byte, largeBytes)
	for i := 0; i < len(body); i += 1 << 10 {
		copy(body[i:], randomBytes(rng, 8))
	}
	if err := s.Create(ctx, "log/1", body); err != nil {
		return err
	}
	if err := s.Put(ctx, "data/1", bytes.NewReader(body), largeBytes); err != nil {
		return err
	}
	for _, name := range []string{"log/1", "data/1"} {
		if err := wantBody(ctx, s, name, body); err != nil {
			return err
		}
		for range 10 {
			off, n := rng.Int64N(largeBytes), rng.Int64N(largeBytes/4)
			got, err := s.Get(ctx, name, off, n)
			if err != nil {
				return err
			}
			start, end := objstore.Range(largeBytes, off, n)
			if !bytes.Equal(got, body[start:end]) {
				return fmt.Errorf("Get(%s, %d, %d) returns other bytes (%d)", name, off, n, len(got))
			}
		}
	}
	return nil
}
