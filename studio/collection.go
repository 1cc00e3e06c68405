package studio

import (
	"errors"
	"net/http"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
)

// collectionAnswer describes a collection.
type collectionAnswer struct {
	Codec     string        `json:"codec"`
	Count     uint64        `json:"count"` // with expired records, until they are swept
	Key       []keyField    `json:"key"`   // empty if a function returns the key
	Fields    []storedField `json:"fields"`
	Indexes   []storedIndex `json:"indexes"`
	Queryable bool          `json:"queryable"`     // queries can have conditions
	Why       string        `json:"why,omitempty"` // not
}

// keyField is a field of a key.
type keyField struct {
	Name  string `json:"name"`
	Class string `json:"class"`
	Auto  bool   `json:"auto"`
}

// storedField is a field of a collection.
type storedField struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

// storedIndex is an index of a collection.
type storedIndex struct {
	Name   string   `json:"name"`
	Fields []string `json:"fields"`
	Unique bool     `json:"unique"`
}

func (h *Handler) collection(r *http.Request) (any, error) {
	name := parametersOf(r).text("name")
	a := collectionAnswer{Key: []keyField{}, Fields: []storedField{}, Indexes: []storedIndex{}}
	err := h.view(r.Context(), func(tx *stoat.Tx) error {
		s, err := openStored(tx, name)
		if err != nil {
			return err
		}
		a.Codec, a.Queryable = s.Codec().String(), s.Codec() == record.CodecBinary
		if !a.Queryable {
			a.Why = "nothing is stored about the fields of records in " + a.Codec +
				": they can only be listed"
		}
		for _, f := range s.Key() {
			a.Key = append(a.Key, keyField{f.Name, f.Type, f.Auto})
		}
		for _, f := range s.Fields() {
			a.Fields = append(a.Fields, storedField{f.Name, f.Type})
		}
		for _, x := range s.Indexes() {
			a.Indexes = append(a.Indexes, storedIndex{x.Name, x.Fields, x.Unique})
		}
		a.Count, err = s.Count(tx)
		return err
	})
	return a, err
}

// openStored opens a collection. That a bucket is none is the fault of the request.
func openStored(tx *stoat.Tx, name string) (*record.Stored, error) {
	s, err := record.OpenStored(tx, name)
	if err == nil || errors.Is(err, stoat.ErrBucketNotFound) || errors.Is(err, stoat.ErrCorrupt) {
		return s, err
	}
	return nil, badf("%s", err)
}
