package torture

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/testing/model"
)

// reading reads a whole database in all ways and compares it with a state.
type reading struct {
	*corruptor
	db      *stoat.DB
	damaged error // the first error that names damage
	wrong   error // the first thing that is wrong
}

// bucket reads the bucket at a path.
func (r *reading) bucket(path string, want *model.Bucket) {
	entries := want.Scan("", "", false, 0)
	r.scan(path, entries, false)
	backward := slices.Clone(entries)
	slices.Reverse(backward)
	r.scan(path, backward, true)
	for _, e := range entries {
		r.get(path, e.Key, e.Value, true)
		if _, known := want.Get(e.Key + "\x00"); !known {
			r.get(path, e.Key+"\x00", "", false)
		}
	}
	r.get(path, "nothing", "", false)
	r.view(path, "sequence", func(s space) error {
		n, err := s.sequence()
		return r.agree(n == want.Sequence(), err)
	})
	r.view(path, "buckets", func(s space) error {
		names, err := s.buckets()
		return r.agree(slices.Equal(names, want.Buckets()), err)
	})
	for _, name := range want.Buckets() {
		r.bucket(strings.TrimPrefix(path+"/"+name, "/"), want.Bucket(name))
	}
}

// errWrong is the error of a read with a wrong result.
var errWrong = errors.New("wrong data")

// agree returns err, or errWrong unless right.
func (r *reading) agree(right bool, err error) error {
	if err == nil && !right {
		return errWrong
	}
	return err
}

// view does one read in a transaction of its own.
func (r *reading) view(path, what string, fn func(s space) error) {
	if r.wrong != nil {
		return
	}
	err := r.db.View(func(tx *stoat.Tx) error {
		s, err := dbTxn{tx}.space(path)
		if err != nil {
			return err
		}
		return fn(s)
	})
	bad := err
	if !errors.Is(err, errWrong) {
		bad = r.judge(err)
	}
	if bad != nil {
		r.wrong = fmt.Errorf("%s in bucket %q: %w", what, path, bad)
	} else if r.damaged == nil {
		r.damaged = err
	}
}

// scan reads keys with and without values. Even the part before an error must be right.
func (r *reading) scan(path string, want []model.Entry, reverse bool) {
	rng := stoat.Range{Reverse: reverse}
	r.view(path, "scan", func(s space) error {
		got, err := s.scan(rng)
		if len(got) > len(want) || !slices.Equal(got, want[:len(got)]) {
			return errWrong
		}
		return r.agree(len(got) == len(want), err)
	})
	r.view(path, "keys", func(s space) error {
		got, err := s.keys(rng)
		for i, key := range got {
			if i == len(want) || want[i].Key != key {
				return errWrong
			}
		}
		return r.agree(len(got) == len(want), err)
	})
}

// get reads a key that is there or not.
func (r *reading) get(path, key, want string, there bool) {
	r.view(path, fmt.Sprintf("get %.40q", key), func(s space) error {
		value, err := s.get(key)
		if errors.Is(err, stoat.ErrNotFound) {
			return r.agree(!there, nil)
		}
		return r.agree(there && value == want, err)
	})
	r.view(path, fmt.Sprintf("has %.40q", key), func(s space) error {
		has, err := s.has(key)
		return r.agree(has == there, err)
	})
}
