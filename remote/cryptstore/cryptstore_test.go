package cryptstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/remote/memstore"
	"github.com/stoatdb/stoat/remote/objstore"
	"github.com/stoatdb/stoat/remote/remotetest"
)

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantErr(t testing.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("the error is %v, want %v", err, want)
	}
}

// testKey returns the key of a number.
func testKey(n byte) []byte { return bytes.Repeat([]byte{n}, 32) }

func open(t testing.TB, store objstore.Store, key byte) *Store {
	t.Helper()
	s, err := Open(t.Context(), store, testKey(key))
	ok(t, err)
	return s
}

// small returns a store whose pages have 7 bytes of content.
func small(t testing.TB, store objstore.Store) *Store {
	t.Helper()
	s := open(t, store, 1)
	s.page = int64(extraBytes) + 7
	return s
}

// content returns n bytes that are not alike.
func content(n int) []byte {
	p := make([]byte, n)
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	for i := range p {
		p[i] = byte(rng.Uint32())
	}
	return p
}

func TestStore_isAStore(t *testing.T) {
	remotetest.Run(t, func(t *testing.T) objstore.Store { return open(t, memstore.New(), 1) })
}

func TestStore_isAStoreWithSmallPages(t *testing.T) {
	remotetest.Run(t, func(t *testing.T) objstore.Store {
		s := open(t, memstore.New(), 1)
		s.page = 4096 // of larger objects there are some, and they have thousands of pages
		return s
	})
}

func TestGet_returnsAnyPart(t *testing.T) {
	below := memstore.New()
	s := small(t, below)
	for size := range 31 {
		want := content(size)
		created, put := fmt.Sprintf("a/%d", size), fmt.Sprintf("b/%d", size)
		ok(t, s.Create(t.Context(), created, want))
		ok(t, s.Put(t.Context(), put, bytes.NewReader(want), int64(size)))
		for _, name := range []string{created, put} {
			for off := -int64(size) - 2; off <= int64(size)+8; off++ {
				for n := int64(-1); n <= int64(size)+9; n++ {
					start, end := objstore.Range(int64(size), off, n)
					got, err := s.Get(t.Context(), name, off, n)
					if ok(t, err); !bytes.Equal(got, want[start:end]) {
						t.Fatalf("%s from %d, %d bytes: got %x, want %x", name, off, n, got, want[start:end])
					}
					if off < 0 || n < 0 {
						continue
					}
					var passed bytes.Buffer
					written, err := s.GetTo(t.Context(), name, off, n, &passed)
					if ok(t, err); written != end-start || !bytes.Equal(passed.Bytes(), got) {
						t.Fatalf("%s from %d, %d bytes: passed on %x", name, off, n, passed.Bytes())
					}
				}
			}
			listed, err := s.List(t.Context(), name, "", 1)
			if ok(t, err); listed[0].Name != name || listed[0].Size != int64(size) {
				t.Errorf("listed as %v", listed[0])
			}
		}
	}
}

// A store may read parts of a body, several times.
func TestPut_readsAsTheStoreLikes(t *testing.T) {
	s := small(t, memstore.New())
	want := content(40)
	key, err := s.sealer("a", 40, bytes.NewReader(want))
	ok(t, err)
	b := newBody(key, bytes.NewReader(want), 40)
	stored := make([]byte, s.stored(40))
	n, err := b.ReadAt(stored, 0)
	if ok(t, err); n != len(stored) {
		t.Fatalf("the body has %d bytes, want %d", n, len(stored))
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		at := rng.IntN(len(stored) + 5)
		p := make([]byte, rng.IntN(len(stored)+5))
		n, err := b.ReadAt(p, int64(at))
		end := min(at+len(p), len(stored))
		if n != max(0, end-at) || !bytes.Equal(p[:n], stored[min(at, end):end]) {
			t.Fatalf("from %d: %d bytes of %d", at, n, len(p))
		}
		if (err == io.EOF) != (n < len(p)) {
			t.Fatalf("from %d, %d bytes: %v", at, len(p), err)
		}
	}
	err = s.Put(t.Context(), "short", bytes.NewReader(want), 41)
	wantErr(t, err, io.ErrUnexpectedEOF)
}

// Whoever tries again stores the same bytes, and different content or names share no key.
func TestCreate_isTheSameForTheSame(t *testing.T) {
	var below [2]*memstore.Store
	secret := open(t, memstore.New(), 1).secret
	for i := range below {
		below[i] = memstore.New()
		s := &Store{layout{pageBytes}, below[i], secret}
		ok(t, s.Create(t.Context(), "other", append(content(100_000), byte(i))))
		ok(t, s.Create(t.Context(), "a", content(100_000)))
		ok(t, s.Put(t.Context(), "b", bytes.NewReader(content(100_000)), 100_000))
		ok(t, s.Create(t.Context(), "c", content(99_999)))
	}
	raw := func(i int, name string) []byte {
		p, err := below[i].Get(t.Context(), name, 0, -1)
		ok(t, err)
		return p
	}
	if bytes.Equal(raw(0, "other")[:headBytes+saltBytes], raw(1, "other")[:headBytes+saltBytes]) {
		t.Error("other content has the same salt")
	}
	salts := map[string]string{}
	for _, name := range []string{"a", "b", "c"} {
		first := raw(0, name)
		if !bytes.Equal(first, raw(1, name)) {
			t.Errorf("%s is stored as other bytes the second time", name)
		}
		salt := string(first[headBytes:][:saltBytes])
		if other, taken := salts[salt]; taken {
			t.Errorf("%s has the salt of %s", name, other)
		}
		salts[salt] = name
	}
}

// Every change of an object is damage, wherever it is, and so is another place for it.
func TestGet_noticesDamage(t *testing.T) {
	secret := small(t, memstore.New()).secret
	put := func(stored []byte, name string) error {
		below := memstore.New()
		s := &Store{layout{int64(extraBytes) + 7}, below, secret}
		ok(t, below.Create(t.Context(), name, stored))
		_, err := s.Get(t.Context(), name, 0, -1)
		_, passed := s.GetTo(t.Context(), name, 0, 1<<40, io.Discard)
		if (err == nil) != (passed == nil) {
			t.Errorf("Get: %v, GetTo: %v", err, passed)
		}
		return err
	}
	below := memstore.New()
	s := &Store{layout{int64(extraBytes) + 7}, below, secret}
	ok(t, s.Create(t.Context(), "a", content(20)))
	stored, err := below.Get(t.Context(), "a", 0, -1)
	ok(t, err)
	ok(t, put(stored, "a"))
	wantErr(t, put(stored, "b"), corrupt.Err)
	for bit := range 8 * len(stored) {
		damaged := bytes.Clone(stored)
		damaged[bit/8] ^= 1 << (bit % 8)
		err := put(damaged, "a")
		if !errors.Is(err, corrupt.Err) && !errors.Is(err, corrupt.ErrKey) &&
			!errors.Is(err, corrupt.ErrFormat) {
			t.Errorf("bit %d: %v", bit, err)
		}
	}
	page := int(s.page)
	swapped := bytes.Clone(stored)
	copy(swapped, stored[page:2*page])
	copy(swapped[page:], stored[:page])
	wantErr(t, put(swapped, "a"), corrupt.Err)
	for n := range len(stored) {
		if err := put(stored[:n], "a"); !errors.Is(err, corrupt.Err) && !errors.Is(err, corrupt.ErrKey) {
			t.Errorf("cut off after %d bytes: %v", n, err)
		}
		if n > 0 {
			wantErr(t, put(append(bytes.Clone(stored), stored[:n]...), "a"), corrupt.Err)
		}
	}
}

// asks counts requests, and has what was asked for.
type asks struct {
	objstore.Store
	gets, lists int
	bytes       int64
}

func (a *asks) Get(ctx context.Context, name string, off, n int64) ([]byte, error) {
	a.gets, a.bytes = a.gets+1, a.bytes+n
	return a.Store.Get(ctx, name, off, n)
}

func (a *asks) List(ctx context.Context, prefix, after string, n int) ([]objstore.Object, error) {
	a.lists++
	return a.Store.List(ctx, prefix, after, n)
}

func TestGet_isOneRequest(t *testing.T) {
	below := &asks{Store: memstore.New()}
	s := open(t, below, 1)
	ok(t, s.Create(t.Context(), "a", content(1<<20)))
	*below = asks{Store: below.Store}
	_, err := s.Get(t.Context(), "a", 500_000, 1000)
	if ok(t, err); below.gets != 1 || below.lists != 0 || below.bytes > 2*pageBytes {
		t.Errorf("%d and %d requests for %d bytes", below.gets, below.lists, below.bytes)
	}
	*below = asks{Store: below.Store}
	if open(t, below, 1); below.gets != 1 || below.lists != 0 {
		t.Errorf("%d and %d requests to open it again", below.gets, below.lists)
	}
}
