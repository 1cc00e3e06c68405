package flush

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/memtable"
	"github.com/stoatdb/stoat/internal/testing/faultfs"
)

// together calls do at the same time for all numbers.
func together(n int, do func(i int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { do(i) })
	}
	all.Wait()
}

// quickly makes a job a quick one, in the given number of pieces.
func quickly(j Job, pieces int) Job {
	j.CompressBottom, j.Quick, j.Pieces, j.Together = true, true, pieces, together
	return j
}

// scattered fills a log with values of several sizes and deletions, in a bucket that the store has
// keys of.
func scattered(t testing.TB, values int) (s *store, l *logged, want writes) {
	t.Helper()
	s = newValueStore(t)
	s.values.Shrink = true
	s.flush(span(1, 60))
	l, want = s.log(), writes{}
	for i := range values {
		l.commit(func(e *memtable.Edit) {
			key := dataKey(7, fmt.Sprintf("key%04d", i*7%values))
			if want[key] = nil; i%9 == 0 {
				e.Delete([]byte(key))
				return
			}
			want[key] = filled(key, 1+i*37%400)
			e.PutUntil([]byte(key), want[key], 0)
		})
	}
	l.commit(func(e *memtable.Edit) {
		key := catalogKey(0, 7)
		want[key] = []byte{7}
		e.PutUntil([]byte(key), want[key], 0)
	})
	return s, l, want
}

func TestDo_quicklyLeavesAllButSmallValuesInTheLog(t *testing.T) {
	for _, pieces := range []int{0, 1, 2, 7} {
		s, l, want := scattered(t, 500)
		j := quickly(l.seal(), pieces)
		j.Reach = 10_000
		edit := s.run(j)
		checkSame(t, "tables", s.read(young(edit)), want)
		for key, e := range s.stored(young(edit)) {
			if (e.Kind == keyspace.KindPointer) != (len(want[key]) >= quickValue) {
				t.Errorf("%d pieces: a value of %d bytes is of kind %d", pieces, len(want[key]), e.Kind)
			}
		}
		for _, table := range young(edit) {
			if table.Compressed || len(table.Values) > 0 && table.Values[0].Bytes > 10_400 {
				t.Errorf("%d pieces: table %06d is %+v", pieces, table.Number, table)
			}
		}
		if len(edit.AddYoung) != 1 || len(edit.AddBottom) > 0 || s.valueFiles() > 0 {
			t.Errorf("%d pieces: the edit is %+v", pieces, edit)
		}
	}
}

func TestDo_quicklyCopiesSmallValues(t *testing.T) {
	s := newValueStore(t)
	l, want := s.log(), writes{}
	for i := range 1000 {
		key := dataKey(7, fmt.Sprintf("key%04d", i))
		want[key] = filled(key, quickValue-1)
		l.put(key, quickValue-1)
	}
	l.put(dataKey(7, "large"), 5000)
	want[dataKey(7, "large")] = filled(dataKey(7, "large"), 5000)
	edit := s.run(quickly(l.seal(), 3))
	checkSame(t, "tables", s.read(young(edit)), want)
	if len(s.version.ValueFiles) > 0 {
		t.Errorf("value files are %+v", s.version.ValueFiles)
	}
}

// Nothing brings a value back into tables where nothing is compressed.
func TestDo_quicklyLeavesOnlyLargeValuesInTheLogIfNothingIsCompressed(t *testing.T) {
	for _, least := range []int{-1, 0, separate} {
		s, l, want := scattered(t, 500)
		j := quickly(l.seal(), 2)
		j.CompressBottom, j.Output.Values.Separate = false, least
		edit := s.run(j)
		checkSame(t, "tables", s.read(young(edit)), want)
		for key, e := range s.stored(young(edit)) {
			if e.Kind == keyspace.KindPointer && (least <= 0 || len(want[key]) < least) {
				t.Errorf("a value of %d bytes is in the log", len(want[key]))
			}
		}
		if least == separate && len(s.version.ValueFiles) == 0 {
			t.Error("no value is in the log")
		}
	}
}

func TestDo_quicklyLeavesNoFileWhenAnOperationFails(t *testing.T) {
	s, l, _ := scattered(t, 300)
	j := quickly(l.seal(), 1)
	before, n := s.list(), int64(0)
	for ; ; n++ {
		other := j
		other.Output.FS = faultfs.New(s.files, faultfs.FailAt(n, errFault))
		_, err := other.Do()
		if err == nil {
			break
		}
		if !errors.Is(err, errFault) {
			t.Errorf("operation %d: %v", n, err)
		}
		if names := s.list(); !slices.Equal(names, before) {
			t.Fatalf("operation %d: files %v are left of %v", n, names, before)
		}
	}
	if n < 10 {
		t.Errorf("only %d operations could fail", n)
	}
}

func TestDo_canBeCancelled(t *testing.T) {
	s, l, want := shrinking(t, 3000, 0)
	j := l.compressing()
	before, asked := s.list(), 0
	for after := 1; ; after++ {
		asked = 0
		j.Cancelled = func() bool { asked++; return asked == after }
		edit, err := j.Do()
		if err == nil {
			s.version, err = s.version.Apply(edit)
			check(t, err)
			break
		}
		if !errors.Is(err, ErrCancelled) || asked != after {
			t.Errorf("cancelled at question %d of %d: %v", after, asked, err)
		}
		if names := s.list(); !slices.Equal(names, before) {
			t.Fatalf("files %v are left of %v", names, before)
		}
	}
	if asked < 3 {
		t.Errorf("asked %d times", asked)
	}
	if got := s.visible(); len(got) < len(want) {
		t.Errorf("%d keys, want %d", len(got), len(want))
	}
}
