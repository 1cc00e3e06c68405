package folderstore

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
	"github.com/stoatdb/stoat/remote/objstore"
)

// asked is a file system that counts how often it is asked what a name stands for.
type asked struct {
	vfs.FS
	times int
}

func (a *asked) IsRegular(name string) (bool, error) {
	a.times++
	return a.FS.IsRegular(name)
}

// With one log object a second, the log of a week has 600,000 objects.
func TestList_looksAtNoMoreFilesThanItReturns(t *testing.T) {
	files := &asked{FS: memfs.New()}
	s := opened(t, files, "store")
	for n := range 500 {
		check(t, s.Create(t.Context(), fmt.Sprintf("log/%03d", n), nil))
	}
	for _, after := range []string{"", "log/100", "log/450"} {
		files.times = 0
		listed, err := s.List(t.Context(), "log/", after, 10)
		if err != nil || len(listed) != 10 || files.times > 30 {
			t.Errorf("after %q, %d objects are listed, and %d files were looked at: %v", after,
				len(listed), files.times, err)
		}
	}
}

// What is in a folder comes in the order of whole names: a-b, a.b, a/b, a0.
func TestList_isInTheOrderOfNames(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	for range 30 {
		s := opened(t, memfs.New(), "store")
		var names []string
		for range 40 {
			name := "a"
			for range rng.IntN(8) {
				name += string("-./0ab"[rng.IntN(6)])
			}
			if s.Create(t.Context(), name, nil) == nil { // or else, a part of it is an object
				names = append(names, name)
			}
		}
		slices.Sort(names)
		limit := 1 + rng.IntN(len(names)+1)
		for after := -1; after < len(names); after++ {
			start := ""
			if after >= 0 {
				start = names[after]
			}
			listed, err := s.List(t.Context(), "", start, limit)
			want := names[after+1 : min(after+1+limit, len(names))]
			if got := namesOf(listed); err != nil || !slices.Equal(got, want) {
				t.Fatalf("after %q, listed are %s, want %s: %v", start, strings.Join(got, " "),
					strings.Join(want, " "), err)
			}
		}
	}
}

func namesOf(objects []objstore.Object) (names []string) {
	for _, o := range objects {
		names = append(names, o.Name)
	}
	return names
}
