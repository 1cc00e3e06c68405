package items

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
)

// item is a document.
type item struct {
	ID    string   `json:"-" stoat:"id,key"` // the last part of its path
	Title string   `json:"title" stoat:"title"`
	Count int      `json:"count" stoat:"count"`
	Tags  []string `json:"tags" stoat:"tags,index"` // a set; its order is kept
}

// idBytes is the number of random bytes in an id, which has twice as many characters.
const idBytes = 10

// newItem returns item number i, under a random id.
func newItem(random *rand.Rand, i int) item {
	var id [idBytes]byte
	for j := range id {
		id[j] = byte(random.Uint32())
	}
	return item{
		ID:    hex.EncodeToString(id[:]),
		Title: fmt.Sprintf("Item %d", i),
		Count: i,
		Tags:  []string{fmt.Sprintf("tag%d", i), fmt.Sprintf("category%d", i%5)},
	}
}

// newItems returns the items with numbers in [0, n).
func newItems(random *rand.Rand, n int) []item {
	all := make([]item, n)
	for i := range all {
		all[i] = newItem(random, i)
	}
	return all
}

// newRandom returns the source of the choices for one purpose. The same seed and purpose give the
// same choices.
func newRandom(seed uint64, purpose string) *rand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(purpose)) // never fails
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

// join returns the path of an item.
func join(repository, id string) string { return repository + "/" + id }

// split returns the repository's path and the id in an item's path.
func split(path string) (repository, id string, err error) {
	slash := strings.LastIndexByte(path, '/')
	if slash < 0 {
		return "", "", fmt.Errorf("path %q has no slash before the id", path)
	}
	return path[:slash], path[slash+1:], nil
}

// query says which items are wanted.
type query struct {
	above   int    // the count must be greater
	below   int    // the count must be less, unless this is 0
	tag     string // must be among the tags, unless empty
	byCount bool   // in descending order of the count; otherwise in any order
}

// counts reports whether an item with this count can match.
func (q query) counts(count int) bool {
	return count > q.above && (q.below == 0 || count < q.below)
}

// tags reports whether an item with these tags can match.
func (q query) tags(tags []string) bool { return q.tag == "" || slices.Contains(tags, q.tag) }

// sort sorts the items found as the query asks.
func (q query) sort(found []item) {
	if q.byCount {
		slices.SortFunc(found, func(a, b item) int { return cmp.Compare(b.Count, a.Count) })
	}
}

// find returns the items that match.
func (q query) find(items []item) []item {
	var found []item
	for _, it := range items {
		if q.counts(it.Count) && q.tags(it.Tags) {
			found = append(found, it)
		}
	}
	q.sort(found)
	return found
}
