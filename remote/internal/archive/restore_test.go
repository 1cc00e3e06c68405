package archive

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"testing/synctest"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/remote/internal/history"
	"github.com/stoatdb/stoat/remote/internal/retry"
	"github.com/stoatdb/stoat/remote/memstore"
	"github.com/stoatdb/stoat/remote/objstore"
)

var errCut = errors.New("the connection was cut")

// cutting is a store whose answers are cut after some bytes, a number of times.
type cutting struct {
	objstore.Store
	after int64 // bytes of each answer that is cut
	cuts  int   // answers that are cut from now on
	asked int64 // bytes that were asked for
}

func (c *cutting) GetTo(
	ctx context.Context, name string, off, n int64, w io.Writer,
) (int64, error) {
	c.asked += n
	if c.cuts == 0 || n <= c.after {
		return objstore.GetTo(ctx, c.Store, name, off, n, w)
	}
	c.cuts--
	written, err := objstore.GetTo(ctx, c.Store, name, off, c.after, w)
	return written, errors.Join(err, errCut)
}

// fetched returns what is fetched of n bytes from off on of an object.
func fetched(t *testing.T, c *cutting, stored []byte, off, n int64, to io.Writer) error {
	t.Helper()
	under := memstore.New()
	name := history.DataName(folder.Table, 7)
	if err := under.Put(t.Context(), name, bytes.NewReader(stored), int64(len(stored))); err != nil {
		t.Fatal(err)
	}
	c.Store = under
	a := &Archive{log: &history.Log{Store: c}}
	return a.fetch(t.Context(), folder.Table, 7, off, n, to)
}

func TestFetch_goesOnWhereAnAnswerWasCut(t *testing.T) {
	const seed = 1
	random := rand.NewChaCha8([32]byte{seed})
	stored := make([]byte, 10_000)
	_, _ = random.Read(stored)
	synctest.Test(t, func(t *testing.T) {
		c := &cutting{after: 100, cuts: 2 * retry.Tries} // more than are tried without progress
		var got bytes.Buffer
		err := fetched(t, c, stored, 1_000, 5_000, &got)
		if err != nil || !bytes.Equal(got.Bytes(), stored[1_000:6_000]) {
			t.Errorf("other bytes, or error %v", err)
		}
		want := int64(0)
		for i := range int64(2*retry.Tries + 1) {
			want += 5_000 - 100*i
		}
		if c.asked != want {
			t.Errorf("asked for %d bytes, want %d: what came is asked for again", c.asked, want)
		}
	})
}

func TestFetch_givesUpWithoutProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &cutting{cuts: 2 * retry.Tries}
		err := fetched(t, c, make([]byte, 100), 0, 100, new(bytes.Buffer))
		if !errors.Is(err, errCut) || c.cuts != retry.Tries {
			t.Errorf("error %v after %d tries", err, 2*retry.Tries-c.cuts)
		}
	})
}

func TestFetch_noticesAnObjectThatEndsEarly(t *testing.T) {
	for _, size := range []int{0, 50, 149} {
		err := fetched(t, new(cutting), make([]byte, size), 50, 100, new(bytes.Buffer))
		if !errors.Is(err, corrupt.Err) {
			t.Errorf("of %d bytes: error %v", size, err)
		}
	}
}

func TestFetch_endsWithAFullDisk(t *testing.T) {
	errFull := errors.New("the disk is full")
	c := new(cutting)
	err := fetched(t, c, make([]byte, 100), 0, 100, failing{errFull})
	if !errors.Is(err, errFull) || errors.Is(err, corrupt.Err) || c.asked != 100 {
		t.Errorf("error %v, after asking for %d bytes", err, c.asked)
	}
}

// failing is a writer that takes nothing.
type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }
