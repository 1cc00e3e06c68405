package replica

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/stoatdb/stoat/replica/internal/rights"
)

// knownRights is the tree of a space at a version of the rights, and which collections the replica
// holds. It is immutable.
type knownRights struct {
	version uint64
	tree    *rights.Tree
	held    *holdings
	lacks   map[string]uint32
}

// knownMax is how many versions of the rights a space remembers: what was committed last, what a
// transaction is about to commit, and what older transactions read.
const knownMax = 3

// rightsCache is the last versions of the rights. Transactions put them here when they have read
// them, and when they are about to commit them, so that the next one need not read all acts. It is
// safe for concurrent use.
//
// A version may be here that is never committed. Nobody takes it for another one: whoever commits
// the next one removes it before. Nor does a transaction take what is here for rights that it has
// changed itself.
type rightsCache struct {
	mu        sync.Mutex
	all       []*knownRights // by version
	committed *knownRights   // the newest that a transaction has found in the database, or nil
}

// find returns a version of the rights, or nil. It was committed if a transaction has found the
// version in the database.
func (c *rightsCache) find(version uint64) *knownRights {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range c.all {
		if k.version == version {
			c.foundLocked(k)
			return k
		}
	}
	return nil
}

// add adds what a transaction has read that was committed.
func (c *rightsCache) add(k *knownRights) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.addLocked(k)
	c.foundLocked(k)
}

// foundLocked notes that a version is in the database.
func (c *rightsCache) foundLocked(k *knownRights) {
	if c.committed == nil || c.committed.version < k.version {
		c.committed = k
	}
}

// newest returns the newest version that was committed, as far as is known, or nil.
func (c *rightsCache) newest() *knownRights {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.committed
}

// replace removes what is newer than the base, of transactions that have failed, and adds what one
// that began there is about to commit, or nothing if k is nil.
func (c *rightsCache) replace(base uint64, k *knownRights) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = slices.DeleteFunc(c.all, func(k *knownRights) bool { return k.version > base })
	if k != nil {
		c.addLocked(k)
	}
}

func (c *rightsCache) addLocked(k *knownRights) {
	i, found := slices.BinarySearchFunc(c.all, k.version, func(k *knownRights, v uint64) int {
		return cmp.Compare(k.version, v)
	})
	if found {
		c.all[i] = k
		return
	}
	c.all = slices.Insert(c.all, i, k)
	if len(c.all) > knownMax {
		c.all = slices.Delete(c.all, 0, 1)
	}
}

// versionStep is how far apart the versions of the rights may be that two transactions commit in
// succession.
const versionStep = 1 << 24

// nextRights returns the first of so many new versions of the rights, and makes the last one the
// present one. The first step of a transaction is of a random size: what one that fails has left in
// the cache of its Space has another version than what another Space of the database commits next.
func (t *txn) nextRights(n uint64) (first uint64, err error) {
	s, err := t.facts()
	if err != nil {
		return 0, err
	}
	if t.rightsBase == nil {
		base := s.acts
		t.rightsBase = &base
		s.acts += rand.Uint64N(versionStep)
	}
	first = s.acts + 1
	s.acts += n
	if err := t.putFacts(s); err != nil || t.publishes {
		return first, err
	}
	t.publishes = true
	return first, t.tx.BeforeCommit(t.publishRights)
}

// publishRights says which rights the transaction is about to commit.
func (t *txn) publishRights() error {
	t.publishes = false
	version, err := t.rightsVersion()
	if err != nil {
		return err
	}
	v := t.rightsView
	if v == nil { // nobody has asked
		t.space.rights.replace(*t.rightsBase, nil)
		return nil
	}
	held, err := t.held()
	if err != nil {
		return err
	}
	lacks, err := t.lacks()
	if err != nil || v.err != nil {
		return cmp.Or(err, v.err)
	}
	v.shared = true // it must not change any more
	t.space.rights.replace(*t.rightsBase, &knownRights{version, v.tree, held, maps.Clone(lacks)})
	return nil
}
