package studio

import (
	"cmp"
	"net/http"
	"slices"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/feed"
)

const (
	consumersShown = 500
	listsCounted   = 2000 // sets of numbers of a sublog, up to which its addresses are counted
)

// feedAnswer describes a feed.
type feedAnswer struct {
	First     uint64        `json:"first,string"`
	Next      uint64        `json:"next,string"`
	Bytes     uint64        `json:"bytes"` // of the values that are kept, as they were appended
	Encoding  string        `json:"encoding"`
	Sublogs   []sublogRow   `json:"sublogs"`
	Consumers []consumerRow `json:"consumers"`      // the first by name, the furthest behind first
	More      bool          `json:"more,omitempty"` // there are more consumers
}

// sublogRow is a sublog.
type sublogRow struct {
	Name      string `json:"name"`
	Addresses *int   `json:"addresses,omitempty"` // how many there are, if they are few
}

// consumerRow is a consumer.
type consumerRow struct {
	Name    string `json:"name"`
	Next    uint64 `json:"next,string"`
	Behind  uint64 `json:"behind,string"`
	Expired uint64 `json:"expired,string"` // entries that it has lost
}

func (h *Handler) feed(r *http.Request) (any, error) {
	name := parametersOf(r).text("name")
	a := feedAnswer{Sublogs: []sublogRow{}, Consumers: []consumerRow{}}
	err := h.view(r.Context(), func(tx *stoat.Tx) error {
		s, err := openStored(tx, name, feedBucket, feed.OpenStored)
		if err != nil {
			return err
		}
		if err := a.count(tx, s); err != nil {
			return err
		}
		if err := a.addSublogs(tx, s); err != nil {
			return err
		}
		return a.addConsumers(tx, s)
	})
	return a, err
}

// count fills in what is known of all entries together.
func (a *feedAnswer) count(tx *stoat.Tx, s *feed.Stored) (err error) {
	a.Encoding = s.Encoding()
	if a.First, err = s.First(tx); err != nil {
		return err
	}
	if a.Next, err = s.Len(tx); err != nil {
		return err
	}
	a.Bytes, err = s.Size(tx)
	return err
}

func (a *feedAnswer) addSublogs(tx *stoat.Tx, s *feed.Stored) error {
	sublogs, err := s.Sublogs(tx)
	if err != nil {
		return err
	}
	for _, sub := range sublogs {
		row := sublogRow{Name: sub.Name}
		if few, err := hasFewLists(tx, s.Name(), sub.Name); err != nil {
			return err
		} else if few && sub.Missing == 0 {
			n := 0
			for _, err := range s.Addresses(tx, sub.Name) {
				if err != nil {
					return err
				}
				n++
			}
			row.Addresses = &n
		}
		a.Sublogs = append(a.Sublogs, row)
	}
	return nil
}

// hasFewLists reports whether a sublog is small enough to be read.
func hasFewLists(tx *stoat.Tx, feed, sublog string) (bool, error) {
	b, err := bucketAt(tx, [][]byte{[]byte(feed), []byte("sublogs")})
	if err != nil {
		return false, err
	}
	lists, err := b.Bucket([]byte(sublog))
	if err != nil {
		return false, err
	}
	stats, err := lists.Stats()
	return stats.Keys <= listsCounted, err
}

func (a *feedAnswer) addConsumers(tx *stoat.Tx, s *feed.Stored) error {
	for c, err := range s.Consumers(tx) {
		if err != nil {
			return err
		}
		if a.More = len(a.Consumers) == consumersShown; a.More {
			break
		}
		a.Consumers = append(a.Consumers, consumerRow(c))
	}
	slices.SortStableFunc(a.Consumers, func(x, y consumerRow) int {
		return cmp.Compare(y.Behind, x.Behind)
	})
	return nil
}
