package layers

import (
	"errors"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// feedOn creates a feed with a consumer and a redacted entry on a disk.
func feedOn(t *testing.T, disk *memfs.FS) *feedModel {
	t.Helper()
	db := openOn(t, disk)
	f, err := openFeed(db, feedMood, 0)
	ok(t, err)
	m := newFeedModel()
	m.opened(feedMood)
	ok(t, db.Update(func(tx *stoat.Tx) error {
		for i := range 6 {
			e := post{Author: authors()[i%2], Tags: tags()[1 : 1+i%3], Text: "text", Mood: "glad"}
			m.append(e)
			if _, err := f.add(tx, e); err != nil {
				return err
			}
		}
		m.at(4).redacted, m.first = true, 1
		for seq := range 3 {
			m.handle("counts", seq)
			if err := derive(tx, "counts", uint64(seq), m.at(seq).post); err != nil {
				return err
			}
		}
		m.cursors["counts"] = 3
		return errors.Join(f.Redact(tx, 4), f.SetCursor(tx, "counts", 3))
	}))
	ok(t, db.Update(func(tx *stoat.Tx) error {
		b, err := tx.Bucket([]byte(feedName))
		if err != nil {
			return err
		}
		entries, err := b.Bucket([]byte("entries"))
		if err != nil {
			return err
		}
		state, err := b.Get([]byte("state"))
		if err != nil {
			return err
		}
		state[1] = 1 // the first entry, as retention does
		return errors.Join(b.Put([]byte("state"), state), entries.Delete([]byte(number(0))))
	}))
	ok(t, db.Close())
	return m
}

// TestFeeds_brokenIsNoticed tests the test: it damages the raw buckets of a feed.
func TestFeeds_brokenIsNoticed(t *testing.T) {
	disk := memfs.New()
	m := feedOn(t, disk)
	in := func(path ...string) []string { return append([]string{feedName}, path...) }
	remove := func(key string) func(b *stoat.Bucket) error {
		return func(b *stoat.Bucket) error { return b.Delete([]byte(key)) }
	}
	const tail = "\x01" // the part of a list that new numbers go to
	all := []damage{
		{"an entry is gone", in("entries"), remove(number(2)), names("differs", "gets")},
		{"an entry is left", in("entries"), put(number(6), "\x01\x00\x00"), names("differs")},
		{"a removed entry is left", in("entries"), put(number(0), "\x01\x00\x00"),
			names("differs")},
		{"a list of authors is gone", in("sublogs", "author"), remove(number(0) + tail + "alice"),
			names("queries", "addresses")},
		{"a list of tags is gone", in("sublogs", "tag"), remove(number(0) + tail + "b"),
			names("queries", "addresses")},
		{"a list is another's", in("sublogs", "author"), func(b *stoat.Bucket) error {
			list, err := b.Get([]byte(number(0) + tail + "alice"))
			if err != nil {
				return err
			}
			return b.Put([]byte(number(0)+tail+"bob"), list)
		}, names("queries", "addresses")},
		{"the list of redactions is gone", in("redacted"), removeFirst,
			names("queries", "addresses")},
		{"the cursor is ahead", in("consumers"), put("counts", "\x04"), names("differs")},
		{"the cursor is behind", in("consumers"), put("counts", "\x02"), names("differs")},
		{"the cursor is gone", in("consumers"), remove("counts"), names("differs")},
		{"there is another cursor", in("consumers"), put("copies", "\x01"), names("differs")},
		{"an entry was handled twice", []string{derivedName, "counts"}, put(timesKey(1), "2"),
			names("differs")},
		{"a count is wrong", []string{derivedName, "counts"}, put(countKey("alice"), "1"),
			names("differs")},
		{"what was handled is gone", []string{derivedName, "counts"}, remove(timesKey(2)),
			names("differs")},
		{"the feed ends early", in(), shiftState(2, 5), names("differs", "gets")},
		{"the feed begins late", in(), shiftState(1, 2), names("differs", "gets")},
		{"the feed begins early", in(), shiftState(1, 0), names("differs", "gets")},
	}
	w := workload[*feedModel]{find: findFeed}
	noticed(t, disk, w, m, all, func(db *stoat.DB) map[string]error {
		f, err := openFeed(db, feedMood, 0)
		ok(t, err)
		found := map[string]error{}
		ok(t, db.View(func(tx *stoat.Tx) error {
			got, err := contentsOf(tx, f)
			if found["differs"] = err; err == nil {
				found["differs"] = m.differs(got)
			}
			found["queries"] = m.verifyQueries(tx, f)
			found["addresses"] = m.verifyAddresses(tx, f)
			found["gets"] = m.verifyGets(tx, f)
			return nil
		}))
		return found
	})
}

// shiftState replaces a number in the stored state. Each number there takes one byte.
func shiftState(at int, n byte) func(b *stoat.Bucket) error {
	return func(b *stoat.Bucket) error {
		state, err := b.Get([]byte("state"))
		if err != nil {
			return err
		}
		state = append([]byte{}, state...)
		state[at] = n
		return b.Put([]byte("state"), state)
	}
}

// TestFeeds_leftListsAreNoticed expects the checks to find lists of removed entries.
func TestFeeds_leftListsAreNoticed(t *testing.T) {
	disk := memfs.New()
	m := feedOn(t, disk)
	late := m.clone()
	late.first = 1 << 16
	db := openOn(t, disk)
	ok(t, db.View(func(tx *stoat.Tx) error {
		if late.verifyLists(tx) == nil {
			t.Error("nobody has noticed")
		}
		return m.verifyLists(tx)
	}))
	ok(t, db.Close())
}

// TestFeeds_lostEntriesAreNoticed expects the checks to miss entries that a live loop returned.
func TestFeeds_lostEntriesAreNoticed(t *testing.T) {
	m := newFeedModel()
	m.opened(feedPlain)
	for range 3 {
		m.append(post{})
	}
	less := newFeedModel()
	var l liveLoop
	l.seen = map[uint64]bool{}
	l.see(2)
	told := l.claim()
	if err := told(nil, []*feedModel{less, m}, 1, true); err != nil {
		t.Error(err)
	}
	if err := told(nil, []*feedModel{less, m}, 0, false); err != nil {
		t.Error(err)
	}
	if told(nil, []*feedModel{less, m}, 0, true) == nil ||
		told(nil, []*feedModel{less}, 0, false) == nil {
		t.Error("a lost entry is not noticed")
	}
	if seq, missing := l.lacks(m); !missing || seq != 0 {
		t.Error("that entries were not told is not noticed")
	}
}
