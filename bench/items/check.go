package items

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// order says whether the order of items matters.
type order bool

const (
	anyOrder order = false
	inOrder  order = true
)

// compareItems returns the error of a read, or an error if the items are not the ones written. If
// they may be in any order, it sorts copies of both by id first.
func compareItems(got, want []item, o order, err error) error {
	if err != nil {
		return err
	}
	if len(got) != len(want) {
		return fmt.Errorf("%d items instead of %d", len(got), len(want))
	}
	if o == anyOrder {
		got, want = sorted(got), sorted(want)
	}
	for i := range want {
		if !equal(got[i], want[i]) {
			return fmt.Errorf("item %d is %+v instead of %+v", i, got[i], want[i])
		}
	}
	return nil
}

func equal(a, b item) bool {
	return a.ID == b.ID && a.Title == b.Title && a.Count == b.Count && slices.Equal(a.Tags, b.Tags)
}

// sorted returns the items in the order of their ids.
func sorted(items []item) []item {
	byID := func(a, b item) int { return strings.Compare(a.ID, b.ID) }
	if slices.IsSortedFunc(items, byID) {
		return items
	}
	return slices.SortedFunc(slices.Values(items), byID)
}

// compareKeys returns an error if the keys are not the ids of the items, in any order.
func compareKeys(got []string, want []item) error {
	if len(got) != len(want) {
		return fmt.Errorf("%d keys instead of %d", len(got), len(want))
	}
	got = slices.Sorted(slices.Values(got))
	for i, it := range sorted(want) {
		if got[i] != it.ID {
			return fmt.Errorf("key %s instead of %s", got[i], it.ID)
		}
	}
	return nil
}

// compare returns the error of an operation, or an error if the values differ.
func compare[T cmp.Ordered](got, want T, err error) error {
	if err == nil && got != want {
		err = fmt.Errorf("%v instead of %v", got, want)
	}
	return err
}
