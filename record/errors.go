package record

import (
	"errors"
	"fmt"
	"strings"

	"github.com/stoatdb/stoat/tuple"
)

// Errors about the contents of a collection. The message names the collection, the key and the
// values.
var (
	// ErrExists reports that a record with the key to insert already exists.
	ErrExists = errors.New("record already exists")
	// ErrDuplicate reports that another record already has the value in a unique index.
	ErrDuplicate = errors.New("duplicate value in a unique index")
	// ErrInconsistent reports that a salvage lost part of a collection, so its records, indexes and
	// count disagree: see [Reindex].
	ErrInconsistent = errors.New("a salvage lost part of it")
	// ErrOutdated reports that the collection in the database is not the one that was opened: it
	// has been recreated or changed since, or it belongs to another database.
	ErrOutdated = errors.New("it has been opened with other fields, indexes or options since, or " +
		"belongs to another database: reopen it")
)

// formatKey returns an encoded key as text for messages.
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

// formatMax is how many bytes of a text or of bytes are told in messages.
const formatMax = 100

// formatValue returns a value as text for messages, the beginning if it is long.
func formatValue(v Value) string {
	switch v := v.(type) {
	case string:
		if len(v) > formatMax {
			return fmt.Sprintf("%q... (%d bytes)", v[:formatMax], len(v))
		}
		return fmt.Sprintf("%q", v)
	case []byte:
		if len(v) > formatMax {
			return fmt.Sprintf("%x... (%d bytes)", v[:formatMax], len(v))
		}
		return fmt.Sprintf("%x", v)
	case [16]byte:
		return fmt.Sprintf("%x", v)
	}
	return fmt.Sprint(v)
}
