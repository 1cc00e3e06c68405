package main

import (
	"errors"
	"flag"
	"fmt"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/commands/bucketpath"
)

// path is the names of the buckets that lead to a bucket, outermost first; the path of the root is
// empty. As a flag, and printed, it has the form of package bucketpath.
type path []string

// bucketFlag adds the flag that chooses a bucket.
func bucketFlag(flags *flag.FlagSet) *path {
	p := new(path)
	flags.Var(p, "bucket", "the bucket `PATH`, like a/b; without it, the root bucket")
	return p
}

// Set implements flag.Value.
func (p *path) Set(text string) (err error) {
	*p, err = bucketpath.Parse(text)
	return err
}

// String returns the path as Set reads it.
func (p *path) String() string { return bucketpath.Format(*p) }

// find returns the bucket at p.
func (p *path) find(tx *stoat.Tx) (stoat.KeySpace, error) {
	var b stoat.KeySpace = tx
	for i, name := range *p {
		next, err := b.Bucket([]byte(name))
		if errors.Is(err, stoat.ErrBucketNotFound) {
			missing := (*p)[:i+1]
			return nil, fmt.Errorf("no bucket %s: \"stoat buckets -tree\" lists them",
				missing.String())
		}
		if err != nil {
			return nil, err
		}
		b = next
	}
	return b, nil
}

// create returns the bucket at p and creates it if necessary.
func (p *path) create(tx *stoat.Tx) (stoat.KeySpace, error) {
	var b stoat.KeySpace = tx
	for _, name := range *p {
		next, err := b.CreateBucketIfNotExists([]byte(name))
		if err != nil {
			return nil, err
		}
		b = next
	}
	return b, nil
}
