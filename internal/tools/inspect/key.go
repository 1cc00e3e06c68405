package inspect

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/valuelog"
)

// quoteColumns is how wide a quoted key is at most, so that it fits into a line.
const quoteColumns = 48

// quote returns bytes as text has them, shortened if they are long.
func quote(p []byte) string {
	whole := strconv.Quote(string(p))
	if utf8.RuneCountInString(whole) <= quoteColumns {
		return whole
	}
	n := min(len(p), quoteColumns)
	for n > 0 {
		short := fmt.Sprintf("%s… (%d bytes)", strconv.Quote(string(p[:n])), len(p))
		if utf8.RuneCountInString(short) <= quoteColumns {
			return short
		}
		n--
	}
	return fmt.Sprintf("%d bytes", len(p))
}

// key is an internal key, decoded. The name says what it is to the item; "" is the key itself.
func key(name string, k []byte) field {
	f := field{name: name, text: keyText(k), json: keyJSON(k)}
	if name == "" {
		f.name = "key"
	} else {
		f.text = name + " " + f.text
	}
	return f
}

// keyText returns an internal key in words.
func keyText(k []byte) string {
	parts, ok := keyspace.Parse(k)
	if !ok {
		return "internal key " + quote(k)
	}
	switch parts.Space {
	case keyspace.SpaceCatalog:
		return fmt.Sprintf("bucket %s in bucket %d", quote(parts.Name), parts.Bucket)
	case keyspace.SpaceSequence:
		return fmt.Sprintf("sequence of bucket %d", parts.Bucket)
	case keyspace.SpaceDropped:
		return fmt.Sprintf("drop of bucket %d", parts.Bucket)
	case keyspace.SpaceNextID:
		return "next bucket id"
	case keyspace.SpaceSalvage:
		return "salvage"
	}
	if len(parts.Name) == 0 {
		return fmt.Sprintf("start of bucket %d", parts.Bucket)
	}
	if parts.Bucket == keyspace.RootID {
		return quote(parts.Name)
	}
	return fmt.Sprintf("%s in bucket %d", quote(parts.Name), parts.Bucket)
}

// keyObject is an internal key as JSON.
type keyObject struct {
	Space   string  `json:"space"`
	Bucket  *uint64 `json:"bucket,omitempty"`
	Name    *string `json:"name,omitempty"`    // of a bucket
	Key     *string `json:"key,omitempty"`     // of a user
	Bytes64 *string `json:"bytes64,omitempty"` // instead of both, if it is not valid UTF-8
}

func keyJSON(k []byte) json.RawMessage {
	o := keyObject{Space: "unknown"}
	parts, ok := keyspace.Parse(k)
	name := parts.Name
	if !ok {
		name = k
	} else if o.Bucket = &parts.Bucket; parts.Space == keyspace.SpaceNextID ||
		parts.Space == keyspace.SpaceSalvage {
		o.Bucket = nil
	}
	named := parts.Space == keyspace.SpaceData || parts.Space == keyspace.SpaceCatalog
	text := string(name)
	switch {
	case !ok || named && !utf8.Valid(name):
		text = base64.StdEncoding.EncodeToString(name)
		o.Bytes64 = &text
	case parts.Space == keyspace.SpaceCatalog:
		o.Name = &text
	case parts.Space == keyspace.SpaceData:
		o.Key = &text
	}
	if ok {
		o.Space = spaceName(parts.Space)
	}
	p, err := json.Marshal(o)
	if err != nil {
		return quoted(err.Error())
	}
	return p
}

func spaceName(s keyspace.Space) string {
	return [...]string{
		keyspace.SpaceData: "data", keyspace.SpaceCatalog: "bucket",
		keyspace.SpaceSequence: "sequence", keyspace.SpaceDropped: "drop",
		keyspace.SpaceNextID: "next id", keyspace.SpaceSalvage: "salvage",
	}[s]
}

// entry is an entry of a block or of the log. size is the value's, as it was before it was encoded.
func entry(depth int, k []byte, e keyspace.Entry, size int) item {
	i := inner(depth)
	switch e.Kind {
	case keyspace.KindDelete:
		return i.called("delete").with(key("", k))
	case keyspace.KindDeleteRange:
		return i.called("delete range").with(key("from", k), key("to", e.Value))
	case keyspace.KindPointer:
		i = i.called("pointer").with(key("", k))
		p, err := valuelog.ParsePointer(e.Value)
		if err != nil {
			return i.with(prose("invalid", err.Error()))
		}
		i = i.with(count(uint64(p.Length), "byte"), number("file", p.File),
			number("offset", p.Offset), word("checksum", fmt.Sprintf("%08x", p.Checksum)))
	default:
		i = i.called("put").with(key("", k), count(uint64(size), "byte"), meaning(k, e.Value))
	}
	return i.with(moment("until", e.Until))
}

// meaning is the number that the value of a key of the catalog is, and nothing for users' values.
func meaning(k, value []byte) field {
	parts, ok := keyspace.Parse(k)
	n, size := binary.Uvarint(value)
	if !ok || size <= 0 || size != len(value) {
		return field{}
	}
	switch parts.Space {
	case keyspace.SpaceCatalog, keyspace.SpaceNextID:
		return number("id", n)
	case keyspace.SpaceSequence:
		return number("last", n)
	case keyspace.SpaceSalvage:
		return number("number", n)
	}
	return field{}
}
