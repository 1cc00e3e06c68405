package remotetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/stoatdb/stoat/remote/objstore"
)

func deleteChecks() []Check {
	return []Check{
		{"Delete removes what it names and nothing else", deleteRemoves},
		{"Delete of absent names is fine", deleteAbsent},
		{"Delete of no names is fine", deleteNone},
	}
}

func nameChecks() []Check {
	return []Check{
		{"names of the whole alphabet are kept", alphabet},
		{"the longest names are kept", longNames},
		{"invalid names are refused", badNames},
	}
}

func contextChecks() []Check {
	return []Check{
		{"a context that has ended stops every request", cancelledContext},
	}
}

func deleteRemoves(ctx context.Context, s objstore.Store, _ *rand.Rand) error {
	names := []string{"a/1", "a/10", "a/2", "b/1", "b/2"}
	if err := createAll(ctx, s, names...); err != nil {
		return err
	}
	if err := s.Delete(ctx, []string{"a/1", "b/2"}); err != nil {
		return err
	}
	for _, name := range []string{"a/1", "b/2"} {
		_, err := s.Get(ctx, name, 0, -1)
		if err := wantError("Get of "+name, err, objstore.ErrNotExist); err != nil {
			return err
		}
	}
	for _, name := range []string{"a/10", "a/2", "b/1"} {
		if err := wantBody(ctx, s, name, []byte(name)); err != nil {
			return err
		}
	}
	return wantListing(ctx, s, []string{"a/10", "a/2", "b/1"}, "", "", 10)
}

func deleteAbsent(ctx context.Context, s objstore.Store, _ *rand.Rand) error {
	if err := createAll(ctx, s, "a/1"); err != nil {
		return err
	}
	if err := s.Delete(ctx, []string{"a/0", "x", "a", "a/1/2", "a/1", "y/z"}); err != nil {
		return err
	}
	if err := wantListing(ctx, s, nil, "", "", 10); err != nil {
		return err
	}
	return s.Delete(ctx, []string{"a/1", "a/1"})
}

func deleteNone(ctx context.Context, s objstore.Store, _ *rand.Rand) error {
	return errors.Join(s.Delete(ctx, nil), s.Delete(ctx, []string{}))
}

func alphabet(ctx context.Context, s objstore.Store, _ *rand.Rand) error {
	const all = "abcdefghijklmnopqrstuvwxyz0123456789.-_"
	var names []string
	for i, c := range all {
		names = append(names, fmt.Sprintf("n%02d/x%cx", i, c))
	}
	names = append(names, "x/"+all+"0", "x/a..b", "x/a--b", "x/0/1/2/3/4/5/6/7/8/9")
	if err := createAll(ctx, s, names...); err != nil {
		return err
	}
	for _, name := range names {
		if err := wantBody(ctx, s, name, []byte(name)); err != nil {
			return err
		}
	}
	return wantListing(ctx, s, names, "", "", 100)
}

func longNames(ctx context.Context, s objstore.Store, _ *rand.Rand) error {
	flat := strings.Repeat("a", objstore.NameBytesMax)
	deep := strings.Repeat("b/", objstore.NameBytesMax/2-1) + "bb"
	if err := createAll(ctx, s, flat, deep); err != nil {
		return err
	}
	if err := wantBody(ctx, s, deep, []byte(deep)); err != nil {
		return err
	}
	return wantListing(ctx, s, []string{flat, deep}, "", "", 10)
}

func badNames(ctx context.Context, s objstore.Store, _ *rand.Rand) error {
	for _, name := range []string{
		"", "/", "/a", "a/", "a//b", ".", "..", "../a", "a/../b", "A", "a b", "a\x00b", "ä", "con",
		strings.Repeat("a", objstore.NameBytesMax+1),
	} {
		_, err := s.Get(ctx, name, 0, -1)
		for what, err := range map[string]error{
			"Create": s.Create(ctx, name, nil),
			"Put":    s.Put(ctx, name, bytes.NewReader(nil), 0),
			"Get":    err,
			"Delete": s.Delete(ctx, []string{"x", name}),
		} {
			if err := wantError(fmt.Sprintf("%s of %.20q", what, name), err, objstore.ErrName); err != nil {
				return err
			}
		}
	}
	return wantListing(ctx, s, nil, "", "", 10)
}

func cancelledContext(ctx context.Context, s objstore.Store, _ *rand.Rand) error {
	if err := createAll(ctx, s, "a/1"); err != nil {
		return err
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	_, getErr := s.Get(ended, "a/1", 0, -1)
	_, listErr := s.List(ended, "", "", 10)
	for what, err := range map[string]error{
		"Create": s.Create(ended, "a/2", []byte("x")),
		"Put":    s.Put(ended, "a/3", bytes.NewReader([]byte("x")), 1),
		"Get":    getErr,
		"List":   listErr,
		"Delete": s.Delete(ended, []string{"a/1"}),
	} {
		if err := wantError(what, err, context.Canceled); err != nil {
			return err
		}
	}
	return wantListing(ctx, s, []string{"a/1"}, "", "", 10)
}
