package batch

import (
	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/keyspace"
)

// Read calls fn for each entry of a frame's payload, oldest first, until fn fails, and returns its
// error. Key and value alias the payload; the value of a range deletion is its end. At the first
// entry that no [Arena] writes, Read returns an error that matches corrupt.Err and says where.
func Read(payload []byte, fn func(key []byte, e keyspace.Entry) error) error {
	for at := 0; at < len(payload); {
		rest := Chunks{payload[at:]}
		ref, n, reason := parseEntry(rest[0])
		if reason != "" {
			return corrupt.New("batch", int64(at), "%s", reason)
		}
		e := keyspace.Entry{Value: rest.Value(ref), Until: rest.Until(ref), Kind: ref.Kind()}
		if err := fn(rest.Key(ref), e); err != nil {
			return err
		}
		at += n
	}
	return nil
}
