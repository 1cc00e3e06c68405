package gokv_test

import (
	"bytes"
	"encoding/gob"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/adapters/gokv"
)

// store has the methods that gokv asks for.
type store interface {
	Set(k string, v any) error
	Get(k string, v any) (found bool, err error)
	Delete(k string) error
	Close() error
}

var _ store = (*gokv.Store)(nil)

// gobs is a codec of another format.
type gobs struct{}

func (gobs) Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	err := gob.NewEncoder(&b).Encode(v)
	return b.Bytes(), err
}

func (gobs) Unmarshal(data []byte, v any) error {
	return gob.NewDecoder(bytes.NewReader(data)).Decode(v)
}

func inMemory(t *testing.T, codec gokv.Codec) *gokv.Store {
	t.Helper()
	db, err := stoat.OpenMemory(nil)
	ok(t, err)
	s := gokv.New(db, codec)
	t.Cleanup(func() { ok(t, s.Close()) })
	return s
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func is(t *testing.T, want error, errs ...error) {
	t.Helper()
	for i, err := range errs {
		if !errors.Is(err, want) {
			t.Errorf("error %d is %v, want %v", i, err, want)
		}
	}
}

type animal struct {
	Name string
	Legs *int
}

func TestStore_keepsValuesOfAllTypes(t *testing.T) {
	four := 4
	values := []any{
		true, 1.25, -3, 'ß', "text", "", []byte("bytes"), []bool{true, false}, []string{"a"},
		[][]string{{"a"}, {"b", "c"}}, map[string]int{"a": 1}, animal{Name: "stoat", Legs: &four},
		[]animal{{Name: "stoat"}, {}}, [2]uint8{1, 255},
	}
	for _, codec := range []gokv.Codec{nil, gobs{}} {
		s := inMemory(t, codec)
		for i, v := range values {
			ok(t, s.Set(fmt.Sprint(i), v))
		}
		for i, v := range values {
			got := reflect.New(reflect.TypeOf(v))
			found, err := s.Get(fmt.Sprint(i), got.Interface())
			ok(t, err)
			if !found || !reflect.DeepEqual(got.Elem().Interface(), v) {
				t.Errorf("%T: %v of type %T came back as %v", codec, v, v, got.Elem())
			}
		}
	}
}

func TestStore_deletesAndReplaces(t *testing.T) {
	s := inMemory(t, nil)
	v := "untouched"
	found, err := s.Get("k", &v)
	if found || err != nil || v != "untouched" {
		t.Errorf("a missing key is found: %v, the value is %q, the error %v", found, v, err)
	}
	ok(t, s.Delete("k"))
	ok(t, s.Set("k", "1"))
	ok(t, s.Set("k", "2"))
	found, err = s.Get("k", &v)
	ok(t, err)
	if !found || v != "2" {
		t.Errorf("found: %v, the value is %q, want 2", found, v)
	}
	ok(t, s.Delete("k"))
	found, err = s.Get("k", &v)
	ok(t, err)
	if found {
		t.Error("a deleted key is found")
	}
}

func TestStore_refusesEmptyKeysAndNil(t *testing.T) {
	s := inMemory(t, nil)
	_, keyErr := s.Get("", new(string))
	is(t, stoat.ErrInvalidKey, keyErr, s.Set("", "v"), s.Delete(""))
	_, nilErr := s.Get("k", nil)
	is(t, gokv.ErrNil, nilErr, s.Set("k", nil))
	if found, err := s.Get("k", new(string)); found || err != nil {
		t.Errorf("something was stored: %v, %v", found, err)
	}
}

func TestStore_returnsTheErrorsOfTheCodec(t *testing.T) {
	s := inMemory(t, nil)
	if err := s.Set("k", func() {}); err == nil {
		t.Error("a function was stored")
	}
	ok(t, s.Set("k", "text"))
	found, err := s.Get("k", new(int))
	if !found || err == nil {
		t.Errorf("found: %v, the error of text as a number is %v", found, err)
	}
	if _, err := s.Get("k", "no pointer"); err == nil {
		t.Error("a value was read into no pointer")
	}
}

func TestClose_isFinalAndMayBeRepeated(t *testing.T) {
	s := inMemory(t, nil)
	ok(t, s.Set("k", 1))
	ok(t, s.Close())
	ok(t, s.Close())
	_, err := s.Get("k", new(int))
	is(t, stoat.ErrClosed, err, s.Set("k", 2), s.Delete("k"))
}

func TestStore_survivesReopening(t *testing.T) {
	dir := t.TempDir()
	for i := range 3 {
		db, err := stoat.Open(dir, &stoat.Options{Sync: stoat.SyncNever})
		ok(t, err)
		s := gokv.New(db, nil)
		n := 0
		_, err = s.Get("n", &n)
		ok(t, err)
		if n != i {
			t.Errorf("opened for the time %d, the value is %d", i, n)
		}
		ok(t, s.Set("n", n+1))
		ok(t, s.Close())
	}
}

func TestStore_byManyGoroutines(t *testing.T) {
	s := inMemory(t, nil)
	var group sync.WaitGroup
	for i := range 100 {
		group.Go(func() {
			key, got := fmt.Sprint(i%10), animal{}
			err := errors.Join(s.Set(key, animal{Name: key}), s.Set(fmt.Sprint("own", i), i))
			found, getErr := s.Get(key, &got)
			if err := errors.Join(err, getErr); err != nil || !found || got.Name != key {
				t.Errorf("found: %v, %+v under %s, %v", found, got, key, err)
			}
			if i%10 != 0 {
				return
			}
			if err := s.Delete(fmt.Sprint("own", i)); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	n := 0
	for i := range 100 {
		if found, err := s.Get(fmt.Sprint("own", i), new(int)); err != nil {
			t.Error(err)
		} else if found {
			n++
		}
	}
	if n != 90 {
		t.Errorf("%d values are left, want 90", n)
	}
}
