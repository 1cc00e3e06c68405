package cryptstore

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/remote/memstore"
	"github.com/stoatdb/stoat/remote/objstore"
)

func wantGet(t testing.TB, s objstore.Store, name string, want []byte) {
	t.Helper()
	got, err := s.Get(t.Context(), name, 0, -1)
	if ok(t, err); !bytes.Equal(got, want) {
		t.Errorf("%s is %q, want %q", name, got, want)
	}
}

func TestOpen_wantsTheKeyOfTheStore(t *testing.T) {
	below := memstore.New()
	ok(t, open(t, below, 1).Create(t.Context(), "a", []byte("A")))
	wantGet(t, open(t, below, 1), "a", []byte("A"))
	_, err := Open(t.Context(), below, testKey(2))
	wantErr(t, err, corrupt.ErrKey)
	for _, key := range [][]byte{nil, {1}, make([]byte, 31), make([]byte, 33)} {
		if _, err := Open(t.Context(), below, key); err == nil {
			t.Errorf("a key of %d bytes opens it", len(key))
		}
	}
	for _, name := range []string{"a", "keyring/1", "zebra"} {
		plain := memstore.New()
		ok(t, plain.Create(t.Context(), name, []byte("A")))
		_, err = Open(t.Context(), plain, testKey(1))
		wantErr(t, err, corrupt.ErrKey)
		if listed, err := plain.List(t.Context(), keyPrefix, "", 10); err != nil || len(listed) > 0 {
			t.Errorf("the store has %v, %v", listed, err)
		}
	}
}

// The names of keys are out of reach, so nobody deletes one by mistake.
func TestStore_hidesTheKeys(t *testing.T) {
	below := memstore.New()
	s := open(t, below, 1)
	for _, name := range []string{"a/1", "j/1", "kez/1", "l/1"} {
		ok(t, s.Create(t.Context(), name, nil))
	}
	for limit := 1; limit < 6; limit++ {
		var all []string
		after := ""
		for {
			page, err := s.List(t.Context(), "", after, limit)
			ok(t, err)
			for _, o := range page {
				all = append(all, o.Name)
				after = o.Name
			}
			if len(page) < limit {
				break
			}
		}
		if got := strings.Join(all, " "); got != "a/1 j/1 kez/1 l/1" {
			t.Errorf("by %d: %s", limit, got)
		}
	}
	_, err := s.Get(t.Context(), keyName(1), 0, -1)
	wantErr(t, err, objstore.ErrName)
	wantErr(t, s.Create(t.Context(), "key", nil), objstore.ErrName)
	wantErr(t, s.Create(t.Context(), keyName(2), nil), objstore.ErrName)
	wantErr(t, s.Put(t.Context(), keyName(2), bytes.NewReader(nil), 0), objstore.ErrName)
	wantErr(t, s.Delete(t.Context(), []string{"a/1", keyName(1)}), objstore.ErrName)
	wantGet(t, open(t, below, 1), "a/1", nil)
}

func TestOpen_racesWithItself(t *testing.T) {
	for range 50 {
		below := memstore.New()
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				s, err := Open(t.Context(), below, testKey(1))
				if err != nil {
					t.Error(err)
					return
				}
				if err := s.Create(t.Context(), "a/"+string(rune('a'+i)), []byte("A")); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		s := open(t, below, 1)
		for i := range 8 {
			wantGet(t, s, "a/"+string(rune('a'+i)), []byte("A"))
		}
	}
}

// overtaken is a store in which something happens before one of the requests.
type overtaken struct {
	objstore.Store
	left  int // requests until then
	other func()
}

func (o *overtaken) count() {
	if o.left--; o.left == 0 {
		o.other()
	}
}

func (o *overtaken) Get(ctx context.Context, name string, off, n int64) ([]byte, error) {
	o.count()
	return o.Store.Get(ctx, name, off, n)
}

func (o *overtaken) List(
	ctx context.Context, prefix, after string, n int,
) ([]objstore.Object, error) {
	o.count()
	return o.Store.List(ctx, prefix, after, n)
}

func (o *overtaken) Create(ctx context.Context, name string, body []byte) error {
	o.count()
	return o.Store.Create(ctx, name, body)
}

// Whenever another process opens the same new store, and uses it, there is one key.
func TestOpen_isOvertakenByAnother(t *testing.T) {
	for left := 1; ; left++ {
		below := memstore.New()
		o := &overtaken{Store: below, left: left, other: func() {
			ok(t, open(t, below, 1).Create(t.Context(), "a", []byte("A")))
		}}
		s := open(t, o, 1)
		if o.left > 0 {
			return
		}
		wantGet(t, s, "a", []byte("A"))
	}
}

func TestRekey_changesTheKey(t *testing.T) {
	below := memstore.New()
	before := open(t, below, 1)
	ok(t, before.Create(t.Context(), "a", []byte("A")))
	wantErr(t, Rekey(t.Context(), below, testKey(3), testKey(2)), corrupt.ErrKey)
	ok(t, Rekey(t.Context(), below, testKey(1), testKey(2)))
	wantGet(t, open(t, below, 2), "a", []byte("A"))
	wantGet(t, before, "a", []byte("A"))
	_, err := Open(t.Context(), below, testKey(1))
	wantErr(t, err, corrupt.ErrKey)
	ok(t, Rekey(t.Context(), below, testKey(1), testKey(2))) // again, as after an error
	ok(t, Rekey(t.Context(), below, testKey(2), testKey(1)))
	wantGet(t, open(t, below, 1), "a", []byte("A"))
	listed, err := below.List(t.Context(), keyPrefix, "", 10)
	if ok(t, err); len(listed) != 1 {
		t.Errorf("the store has the keys %v", listed)
	}
	wantErr(t, Rekey(t.Context(), memstore.New(), testKey(1), testKey(2)), corrupt.ErrKey)
}

// What was created late, or by another Rekey at the same time, is not taken for the key, and the
// last object that has the key is not deleted.
func TestRekey_deletesNoKeyThatItDoesNotKnow(t *testing.T) {
	below, elsewhere := memstore.New(), memstore.New()
	s := open(t, below, 1)
	ok(t, s.Create(t.Context(), "a", []byte("A")))
	ok(t, Rekey(t.Context(), below, testKey(1), testKey(2)))
	open(t, elsewhere, 1)
	late, err := elsewhere.Get(t.Context(), keyName(1), 0, -1)
	ok(t, err)
	ok(t, below.Create(t.Context(), keyName(1), late))
	wantErr(t, Rekey(t.Context(), below, testKey(1), testKey(3)), corrupt.ErrKey)
	wantErr(t, Rekey(t.Context(), below, testKey(2), testKey(3)), corrupt.ErrKey)
	wantErr(t, Rekey(t.Context(), below, testKey(1), testKey(2)), corrupt.ErrKey)
	wantGet(t, open(t, below, 2), "a", []byte("A"))
}

// A damaged object with a key does not hide another one.
func TestOpen_looksForAnotherKey(t *testing.T) {
	below := memstore.New()
	s := open(t, below, 1)
	ok(t, s.Create(t.Context(), "a", []byte("A")))
	whole, err := below.Get(t.Context(), keyName(1), 0, -1)
	ok(t, err)
	ok(t, below.Create(t.Context(), keyName(2), whole))
	ok(t, below.Delete(t.Context(), []string{keyName(1)}))
	whole[20] ^= 1
	ok(t, below.Create(t.Context(), keyName(1), whole))
	wantGet(t, open(t, below, 1), "a", []byte("A"))
	ok(t, below.Delete(t.Context(), []string{keyName(2)}))
	_, err = Open(t.Context(), below, testKey(1))
	wantErr(t, err, corrupt.Err)
}

// failing fails one request, which may have its effect all the same.
type failing struct {
	objstore.Store
	left   int // requests until then
	effect bool
}

var errFails = errors.New("the store fails")

func (f *failing) fail(do func() error) error {
	f.left--
	if f.left != 0 {
		return do()
	}
	if f.effect {
		if err := do(); err != nil {
			return err
		}
	}
	return errors.Join(errFails, objstore.ErrUnknown)
}

func (f *failing) Create(ctx context.Context, name string, body []byte) error {
	return f.fail(func() error { return f.Store.Create(ctx, name, body) })
}

func (f *failing) Delete(ctx context.Context, names []string) error {
	return f.fail(func() error { return f.Store.Delete(ctx, names[:1]) })
}

func (f *failing) Get(ctx context.Context, name string, off, n int64) (p []byte, err error) {
	err = f.fail(func() (err error) {
		p, err = f.Store.Get(ctx, name, off, n)
		return err
	})
	return p, err
}

func (f *failing) List(
	ctx context.Context, prefix, after string, n int,
) (all []objstore.Object, err error) {
	err = f.fail(func() (err error) {
		all, err = f.Store.List(ctx, prefix, after, n)
		return err
	})
	return all, err
}

// Whichever request fails, trying again does what was asked, and nothing is lost meanwhile.
func TestKeys_surviveFailures(t *testing.T) {
	for _, effect := range []bool{false, true} {
		for left := 1; ; left++ {
			below := memstore.New()
			f := &failing{Store: below, left: left, effect: effect}
			if _, err := Open(t.Context(), f, testKey(1)); err != nil {
				wantErr(t, err, errFails)
			}
			ok(t, open(t, below, 1).Create(t.Context(), "a", []byte("A")))
			err := Rekey(t.Context(), f, testKey(1), testKey(2))
			if err != nil {
				wantErr(t, err, errFails)
				if _, failed := Open(t.Context(), below, testKey(1)); failed != nil {
					wantGet(t, open(t, below, 2), "a", []byte("A"))
				}
				ok(t, Rekey(t.Context(), f, testKey(1), testKey(2)))
			}
			wantGet(t, open(t, below, 2), "a", []byte("A"))
			_, err = Open(t.Context(), below, testKey(1))
			wantErr(t, err, corrupt.ErrKey)
			if f.left > 0 {
				break
			}
		}
	}
}
