package ship

import (
	"context"
	"io"
	"slices"
	"testing"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/folder"
)

// TestFill_beginsWithTheNewest has three files that the folder lacks, of which one is damaged, and
// one finds no room.
func TestFill_beginsWithTheNewest(t *testing.T) {
	s, e, _, _ := startedLimited(t, newBarrier().plan, 0)
	for _, key := range []string{"a", "b", "c"} {
		flushShipped(t, s, e, key)
	}
	var numbers, asked []uint64
	for _, d := range filesOf(e.Version()) {
		numbers = append(numbers, d.number)
	}
	slices.Sort(numbers)
	s.stock.lack(numbers, e.Version())
	full := true
	s.config.Fetch = func(
		_ context.Context, kind folder.Kind, number uint64, _ int64, _ io.ReaderAt,
		_ func(int) error, needed func(folder.Kind, uint64) bool,
	) (bool, error) {
		if !needed(kind, number) || needed(kind, 999) {
			t.Error("other files than those of the version are needed")
		}
		asked = append(asked, number)
		if number == numbers[1] {
			return true, corrupt.New("data", 0, "damaged")
		}
		return number != numbers[0] || !full, nil
	}
	f := filling{fetched: map[uint64]bool{}}
	next := func(want bool) {
		t.Helper()
		if more, err := s.fetchNext(t.Context(), &f); err != nil || more != want {
			t.Errorf("after %d, there may be more: %t, %v", asked, more, err)
		}
	}
	next(true)
	found := &f.rest[0]
	next(true)
	if &f.rest[0] != found {
		t.Error("all files are looked at for each of them")
	}
	next(false)
	full = false
	next(true)
	next(false)
	if want := []uint64{numbers[2], numbers[1], numbers[0], numbers[0]}; !slices.Equal(asked, want) {
		t.Errorf("%d were fetched, want %d", asked, want)
	}
}
