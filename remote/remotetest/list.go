package remotetest

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/stoatdb/stoat/remote/objstore"
)

func listChecks() []Check {
	return []Check{
		{"List is in the order of names as bytes", listOrder},
		{"List keeps to the prefix", listPrefix},
		{"List begins after a name, whether or not that exists", listAfter},
		{"List returns as many as asked for", listLimit},
		{"pages of a listing are the listing", listPages},
		{"List tells the sizes", listSizes},
		{"List of nothing is empty", listNothing},
		{"List shows creations and deletions at once", listFresh},
		{"List refuses a limit that is not positive", listBadLimit},
		{"any listing equals the model's", listModel},
	}
}

// mixedNames are in an order that differs from the order of folders.
func mixedNames() []string {
	return []string{
		"a", "a-b", "a.b", "a/", "a0", "a_", "aa", "b-/", "b/0", "b/1", "b/10", "b/2", "b/a", "b0",
	}
}

// someNames returns possible names in that order: of a/ and b-/ some object inside, and without a,
// which is a folder.
func someNames() []string {
	var names []string
	for _, name := range mixedNames()[1:] {
		if strings.HasSuffix(name, "/") {
			name += "x"
		}
		names = append(names, name)
	}
	return names
}

func listOrder(ctx context.Context, s objstore.Store, rng *rand.Rand) error {
	names := someNames()
	shuffled := slices.Clone(names)
	rng.Shuffle(len(names), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	if err := createAll(ctx, s, shuffled...); err != nil {
		return err
	}
	listed, err := s.List(ctx, "", "", 1000)
	if err != nil {
		return err
	}
	return wantNames("the listing", listed, names)
}

// selected returns what a listing should hold.
func selected(names []string, prefix, after string, limit int) []string {
	var want []string
	for _, name := range slices.Sorted(slices.Values(names)) {
		if strings.HasPrefix(name, prefix) && name > after && len(want) < limit {
			want = append(want, name)
		}
	}
	return want
}

// wantListing compares a listing with what it should hold of the names.
func wantListing(
	ctx context.Context, s objstore.Store, names []string, prefix, after string, limit int,
) error {
	listed, err := s.List(ctx, prefix, after, limit)
	if err != nil {
		return err
	}
	what := fmt.Sprintf("List(%q, %q, %d)", prefix, after, limit)
	return wantNames(what, listed, selected(names, prefix, after, limit))
}

func listPrefix(ctx context.Context, s objstore.Store, _ *rand.Rand) error {
	if err := createAll(ctx, s, someNames()...); err != nil {
		return err
	}
	for _, prefix := range []string{
		"a", "a/", "a/x", "b", "b/", "b/1", "b/10", "b/100", "b-", "c", "b/x",
	} {
		if err := wantListing(ctx, s, someNames(), prefix, "", 1000); err != nil {
			return err
		}
	}
	return nil
}

func listAfter(ctx context.Context, s objstore.Store, _ *rand.Rand) error {
	if err := createAll(ctx, s, someNames()...); err != nil {
		return err
	}
	for _, prefix := range []string{"", "a", "b/", "b/1"} {
		for _, after := range []string{
			"0", "a", "a-b", "a-c", "a.z", "a/", "a/x", "a/y", "b", "b/", "b/0", "b/1", "b/11", "b/a",
			"b/z", "b0", "z",
		} {
			if err := wantListing(ctx, s, someNames(), prefix, after, 1000); err != nil {
				return err
			}
		}
	}
	return nil
}

func listLimit(ctx context.Context, s objstore.Store, _ *rand.Rand) error {
	if err := createAll(ctx, s, someNames()...); err != nil {
		return err
	}
	for _, limit := range []int{1, 2, 3, 12, 13, 14, 1000, 5000} {
		for _, prefix := range []string{"", "a", "b/"} {
			if err := wantListing(ctx, s, someNames(), prefix, "", limit); err != nil {
				return err
			}
		}
	}
	return nil
}

func listPages(ctx context.Context, s objstore.Store, _ *rand.Rand) error {
	if err := createAll(ctx, s, someNames()...); err != nil {
		return err
	}
	for _, limit := range []int{1, 2, 5, 13} {
		if err := wantPages(ctx, s, "", limit, someNames()); err != nil {
			return err
		}
	}
	return nil
}

// wantPages lists page by page.
func wantPages(
	ctx context.Context, s objstore.Store, prefix string, limit int, want []string,
) error {
	var all []objstore.Object
	after := ""
	for {
		page, err := s.List(ctx, prefix, after, limit)
		if err != nil {
			return err
		}
		all = append(all, page...)
		if len(page) < limit || len(all) > len(want) {
			break
		}
		after = page[len(page)-1].Name
	}
	return wantNames(fmt.Sprintf("pages of %d", limit), all, want)
}

func listMany(ctx context.Context, s objstore.Store, _ *rand.Rand) error {
	const clients, each = 25, 41 // 1,025 in all: providers list 1,000
	names := make([]string, clients*each)
	for i := range names {
		names[i] = fmt.Sprintf("log/%016x", i)
	}
	err := together(clients, func(c int) error {
		for _, name := range names[c*each : (c+1)*each] {
			if err := s.Put(ctx, name, bytes.NewReader(nil), 0); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := wantListing(ctx, s, names, "log/", "", 5000); err != nil {
		return err
	}
	return wantPages(ctx, s, "log/", 500, names)
}

func listSizes(ctx context.Context, s objstore.Store, rng *rand.Rand) error {
	for size := range 5 {
		name := fmt.Sprintf("data/%d", size)
		if err := s.Create(ctx, name, randomBytes(rng, size*1000)); err != nil {
			return err
		}
	}
	listed, err := s.List(ctx, "data/", "", 10)
	if err != nil {
		return err
	}
	for size, o := range listed {
		if o.Size != int64(size)*1000 {
			return fmt.Errorf("%s has %d bytes in the listing, want %d", o.Name, o.Size, size*1000)
		}
	}
	return nil
}

func listNothing(ctx context.Context, s objstore.Store, _ *rand.Rand) error {
	for _, prefix := range []string{"", "log/", "x"} {
		if err := wantListing(ctx, s, nil, prefix, "", 10); err != nil {
			return err
		}
	}
	return nil
}

func listFresh(ctx context.Context, s objstore.Store, _ *rand.Rand) error {
	var names []string
	for i := range 5 {
		names = append(names, fmt.Sprintf("state/%d", 9-i))
		if err := createAll(ctx, s, names[i]); err != nil {
			return err
		}
		if err := wantListing(ctx, s, names, "state/", "", 10); err != nil {
			return err
		}
	}
	for len(names) > 0 {
		if err := s.Delete(ctx, names[:1]); err != nil {
			return err
		}
		names = names[1:]
		if err := wantListing(ctx, s, names, "state/", "", 10); err != nil {
			return err
		}
	}
	return nil
}

func listBadLimit(ctx context.Context, s objstore.Store, _ *rand.Rand) error {
	for _, limit := range []int{0, -1} {
		if listed, err := s.List(ctx, "", "", limit); err == nil {
			return fmt.Errorf("a limit of %d lists %v", limit, listed)
		}
	}
	return nil
}

func listModel(ctx context.Context, s objstore.Store, rng *rand.Rand) error {
	var names []string
	for range 15 {
		name := fmt.Sprintf("%c/%c%c", 'a'+rng.IntN(2), 'a'+rng.IntN(3), "-.09az"[rng.IntN(6)])
		if !slices.Contains(names, name) && objstore.CheckName(name) == nil {
			names = append(names, name)
		}
	}
	if err := createAll(ctx, s, names...); err != nil {
		return err
	}
	parts := append([]string{"", "a", "b", "c"}, names...)
	for range 50 {
		prefix, after := parts[rng.IntN(len(parts))], parts[rng.IntN(len(parts))]
		prefix = prefix[:rng.IntN(len(prefix)+1)]
		if err := wantListing(ctx, s, names, prefix, after, 1+rng.IntN(16)); err != nil {
			return err
		}
	}
	return nil
}
