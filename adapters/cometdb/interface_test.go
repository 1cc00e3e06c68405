package cometdb_test

import (
	"errors"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/adapters/cometdb"
)

// iterator, batch and database have the methods that cometbft-db and cosmos-db ask for, together.
type (
	iterator interface {
		Domain() (start, end []byte)
		Valid() bool
		Next()
		Key() []byte
		Value() []byte
		Error() error
		Close() error
	}
	batch interface {
		Set(key, value []byte) error
		Delete(key []byte) error
		Write() error
		WriteSync() error
		Close() error
		GetByteSize() (int, error)
	}
	database interface {
		Get([]byte) ([]byte, error)
		Has([]byte) (bool, error)
		Set([]byte, []byte) error
		SetSync([]byte, []byte) error
		Delete([]byte) error
		DeleteSync([]byte) error
		Iterator(start, end []byte) (iterator, error)
		ReverseIterator(start, end []byte) (iterator, error)
		Close() error
		NewBatch() batch
		NewBatchWithSize(int) batch
		Print() error
		Stats() map[string]string
		Compact(start, end []byte) error
	}
)

// inMemory returns an empty database.
func inMemory(t testing.TB) database {
	t.Helper()
	db, err := stoat.OpenMemory(nil)
	ok(t, err)
	s := wrap(db)
	t.Cleanup(func() { ok(t, s.Close()) })
	return s
}

func wrap(db *stoat.DB) database {
	return cometdb.New(db,
		func(it *cometdb.Iterator) iterator { return it },
		func(b *cometdb.Batch) batch { return b })
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// is fails the test unless each error is want.
func is(t testing.TB, want error, errs ...error) {
	t.Helper()
	for i, err := range errs {
		if !errors.Is(err, want) {
			t.Errorf("error %d is %v, want %v", i, err, want)
		}
	}
}

// holds fails the test unless key has the value.
func holds(t testing.TB, db database, key string, want []byte) {
	t.Helper()
	got, err := db.Get([]byte(key))
	ok(t, err)
	if string(got) != string(want) || (got == nil) != (want == nil) {
		t.Errorf("%s is %v, want %v", key, got, want)
	}
	has, err := db.Has([]byte(key))
	ok(t, err)
	if has != (want != nil) {
		t.Errorf("Has(%s) is %v, and its value is %v", key, has, got)
	}
}
