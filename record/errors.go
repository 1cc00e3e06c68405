package record

import (
	"errors"
	"fmt"
	"strings"

	"github.com/stoatdb/stoat/tuple"
)

// Errors that say what is in a collection; the message has the collection, the key and the values.
var (
	// ErrExists reports that there already is a record with the key that was to be inserted.
	ErrExists = errors.New("record already exists")
	// ErrDuplicate reports that another record has the value of a unique index.
	ErrDuplicate = errors.New("duplicate value in a unique index")
	// ErrInconsistent reports that a salvage has lost something of a collection, so that records,
	// indexes and count do not agree: see [Reindex].
	ErrInconsistent = errors.New("a salvage has lost something of it")
	// ErrOutdated reports that the collection in the database is not what it was when it was opened:
	// it was made anew or changed since, or it is that of another database.
	ErrOutdated = errors.New("opened with other fields, indexes or options since, or in another " +
		"database: open it anew")
)

// formatKey returns an encoded tuple for people.
func formatKey(encoded []byte) string {
	values, err := tuple.Decode(encoded)
	if err != nil {
		return fmt.Sprintf("%x", encoded)
	}
	var list []string
	for _, v := range values {
		list = append(list, formatValue(v))
	}
	return strings.Join(list, ", ")
}

// formatValue returns a value for people.
func formatValue(v Value) string {
	switch v := v.(type) {
	case string:
		return fmt.Sprintf("%q", v)
	case []byte, [16]byte:
		return fmt.Sprintf("%x", v)
	}
	return fmt.Sprint(v)
}
