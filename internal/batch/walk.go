package batch

import (
	"encoding/binary"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/keyspace"
)

// Walk calls fn with the entries of a payload, oldest first. Key and value alias the payload. At
// the first entry that no [Arena] writes it returns an error that matches corrupt.Err and says
// where.
func Walk(payload []byte, fn func(key []byte, e keyspace.Entry)) error {
	for at := 0; at < len(payload); {
		ref, n, reason := parseEntry(payload[at:])
		if reason != "" {
			return corrupt.New("batch", int64(at), "%s", reason)
		}
		p := payload[at : at+n]
		middle := int(ref.offset) + ref.KeyLen()
		e := keyspace.Entry{Kind: ref.Kind(), Value: p[middle:n:n]}
		if ref.Expires() {
			e.Until = binary.LittleEndian.Uint64(p[ref.offset-untilBytes:])
		}
		fn(p[ref.offset:middle:middle], e)
		at += n
	}
	return nil
}
