package boltcompat_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	bbolt "go.etcd.io/bbolt"

	bolt "github.com/stoatdb/stoat/boltcompat"
)

var (
	seed      = flag.Uint64("seed", 0, "the seed of the random history; 0 means the time")
	histories = flag.Int("histories", 20, "how many random histories to compare")
)

// pair is a transaction of each of the two, in which the same is done.
type pair struct {
	t      *testing.T
	random *rand.Rand
	ours   *bolt.Tx
	theirs *bbolt.Tx
	did    []string // what was done, to tell when they differ
}

// place is the same bucket in both; nil ones stand for the top.
type place struct {
	ours   *bolt.Bucket
	theirs *bbolt.Bucket
}

// TestHistory_equalsBolt does the same at random with bbolt and with this package.
func TestHistory_equalsBolt(t *testing.T) {
	first := *seed
	if first == 0 {
		first = uint64(time.Now().UnixNano())
	}
	for i := range *histories {
		at := first + uint64(i)
		t.Logf("repeat: go test -run TestHistory_equalsBolt -seed %d -histories 1", at)
		compareHistories(t, rand.New(rand.NewPCG(at, 0)))
		if t.Failed() {
			return
		}
	}
}

func compareHistories(t *testing.T, random *rand.Rand) {
	dir := t.TempDir()
	ours, err := bolt.Open(filepath.Join(dir, "ours"), 0o600, &bolt.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	theirs, err := bbolt.Open(filepath.Join(dir, "theirs"), 0o600, &bbolt.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	for range 10 {
		p := &pair{t: t, random: random}
		if p.ours, err = ours.Begin(true); err != nil {
			t.Fatal(err)
		}
		if p.theirs, err = theirs.Begin(true); err != nil {
			t.Fatal(err)
		}
		if random.IntN(2) == 0 {
			p.move()
		}
		for range random.IntN(40) {
			p.act()
		}
		p.end(random.IntN(4) > 0)
		if t.Failed() {
			t.Logf("the transaction did: %q", p.did)
			return
		}
	}
}

// end compares everything and commits, or rolls back.
func (p *pair) end(commit bool) {
	p.compare(p.ours.Inspect(), p.theirs.Inspect(), "the tree")
	if commit {
		p.same(p.ours.Commit(), p.theirs.Commit(), "commit")
	} else {
		p.same(p.ours.Rollback(), p.theirs.Rollback(), "rollback")
	}
}

// act does something in a random bucket.
func (p *pair) act() {
	at, name := p.somewhere(), p.name()
	what := p.random.IntN(10)
	if what < 3 || at.ours == nil {
		p.nest(at, name)
		return
	}
	switch what {
	case 3, 4, 5:
		value := bytes.Repeat([]byte{byte(p.random.IntN(256))}, p.random.IntN(300))
		p.same(at.ours.Put(name, value), at.theirs.Put(name, value), "put %q", name)
	case 6:
		p.same(at.ours.Delete(name), at.theirs.Delete(name), "delete %q", name)
	case 7:
		p.value(at.ours.Get(name), at.theirs.Get(name), "get %q", name)
	case 8:
		n, err := at.ours.NextSequence()
		m, other := at.theirs.NextSequence()
		p.same(err, other, "next sequence")
		p.compare(n, m, "the sequence")
	case 9:
		p.walk(at)
	}
}

// nest creates or deletes a bucket.
func (p *pair) nest(at place, name []byte) {
	ours, theirs := at.ours, at.theirs
	if ours == nil { // the top has the same methods
		ours, theirs = p.ours.Cursor().Bucket(), p.theirs.Cursor().Bucket()
	}
	switch p.random.IntN(4) {
	case 0, 1:
		_, err := ours.CreateBucket(name)
		_, other := theirs.CreateBucket(name)
		p.same(err, other, "create %q", name)
	case 2:
		_, err := ours.CreateBucketIfNotExists(name)
		_, other := theirs.CreateBucketIfNotExists(name)
		p.same(err, other, "create %q if missing", name)
	case 3:
		p.same(ours.DeleteBucket(name), theirs.DeleteBucket(name), "delete bucket %q", name)
	}
}

// move moves a bucket from the top into another one, which it must not be: bbolt loses a bucket
// that moves into itself. It also loses what the transaction has done in the bucket, so move comes
// first.
func (p *pair) move() {
	name, to := p.name(), p.name()
	ours, theirs := p.ours.Bucket(to), p.theirs.Bucket(to)
	if ours != nil && !bytes.Equal(name, to) {
		p.same(p.ours.MoveBucket(name, nil, ours), p.theirs.MoveBucket(name, nil, theirs),
			"move %q to %q", name, to)
	}
}

// walk moves a cursor.
func (p *pair) walk(at place) {
	ours, theirs := at.ours.Cursor(), at.theirs.Cursor()
	for range 1 + p.random.IntN(30) {
		var k, v, ok, ov []byte
		what := p.random.IntN(12)
		switch name := p.name(); what {
		case 0:
			k, v = ours.First()
			ok, ov = theirs.First()
		case 1:
			k, v = ours.Last()
			ok, ov = theirs.Last()
		case 2:
			k, v = ours.Seek(name)
			ok, ov = theirs.Seek(name)
		case 3, 4, 5, 6, 7:
			k, v = ours.Next()
			ok, ov = theirs.Next()
		default:
			k, v = ours.Prev()
			ok, ov = theirs.Prev()
		}
		p.value(k, ok, "the key after move %d", what)
		p.value(v, ov, "the value after move %d", what)
	}
}

const names = 12

func nameOf(i int) []byte { return fmt.Appendf(nil, "name-%02d", i) }

func (p *pair) name() []byte { return nameOf(p.random.IntN(names)) }

// somewhere returns a random bucket, not deep, or the top.
func (p *pair) somewhere() place {
	at := place{}
	for range p.random.IntN(4) {
		name := p.name()
		next := place{}
		if at.ours == nil {
			next = place{p.ours.Bucket(name), p.theirs.Bucket(name)}
		} else {
			next = place{at.ours.Bucket(name), at.theirs.Bucket(name)}
		}
		p.compare(next.ours != nil, next.theirs != nil, "bucket %q", name)
		if next.ours == nil || next.theirs == nil {
			break
		}
		at = next
	}
	return at
}

func (p *pair) same(ours, theirs error, format string, args ...any) {
	p.t.Helper()
	p.did = append(p.did, fmt.Sprintf(format, args...))
	if (ours == nil) != (theirs == nil) || theirs != nil && !errors.Is(ours, theirs) {
		p.t.Errorf("%s: ours returns %v, bbolt %v", p.did[len(p.did)-1], ours, theirs)
	}
}

func (p *pair) value(ours, theirs []byte, format string, args ...any) {
	p.t.Helper()
	if !bytes.Equal(ours, theirs) || (ours == nil) != (theirs == nil) {
		p.t.Errorf("%s: ours is %q, that of bbolt %q", fmt.Sprintf(format, args...), ours, theirs)
	}
}

func (p *pair) compare(ours, theirs any, format string, args ...any) {
	p.t.Helper()
	if a, b := fmt.Sprint(ours), fmt.Sprint(theirs); a != b {
		p.t.Errorf("%s: ours is %s, that of bbolt %s", fmt.Sprintf(format, args...), a, b)
	}
}
