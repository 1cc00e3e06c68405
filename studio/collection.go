package studio

import (
	"net/http"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
)

// collectionAnswer describes a collection.
type collectionAnswer struct {
	Codec     string        `json:"codec"`
	Count     uint64        `json:"count"` // with expired records, until they are swept
	Key       []string      `json:"key"`   // its fields; empty if a function returns it
	Fields    []storedField `json:"fields"`
	Indexes   []storedIndex `json:"indexes"`
	Queryable bool          `json:"queryable"`     // queries can have conditions
	Why       string        `json:"why,omitempty"` // not
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
	a := collectionAnswer{Key: []string{}, Fields: []storedField{}, Indexes: []storedIndex{}}
	err := h.view(r.Context(), func(tx *stoat.Tx) error {
		s, err := openStored(tx, name, collectionBucket, record.OpenStored)
		if err != nil {
			return err
		}
		a.Codec, a.Queryable = s.Codec().String(), s.Codec() == record.CodecBinary
		if !a.Queryable {
			a.Why = "nothing is stored about the fields of records in " + a.Codec +
				": they can only be listed"
		}
		for _, f := range s.Key() {
			a.Key = append(a.Key, f.Name)
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

// openStored opens what a bucket keeps. That it is of another kind is the fault of the request.
func openStored[T any](
	tx *stoat.Tx, name string, kind bucketKind, open func(tx *stoat.Tx, name string) (T, error),
) (stored T, err error) {
	b, err := tx.Bucket([]byte(name))
	if err != nil {
		return stored, err
	}
	is, err := kindOf(b, []byte(name))
	if err != nil {
		return stored, err
	}
	if is != kind {
		return stored, badf("the bucket %.200q is not a %s", name, kind)
	}
	return open(tx, name)
}
