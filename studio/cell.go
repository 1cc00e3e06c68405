package studio

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/stoatdb/stoat/record"
	"github.com/stoatdb/stoat/tuple"
)

// Bounds of a cell.
const (
	cellShown    = 1 << 10  // bytes of a text, or of a record in JSON
	elementsMost = 50       // of a list or a map
	partsFrom    = 64 << 10 // the size of a record whose lists and maps are not shown
	exactMost    = 1 << 53  // the greatest integer that JavaScript has
)

// cells turns rows of a collection into JSON. Numbers, bools, short texts and null are themselves;
// times, UUIDs and numbers that JavaScript lacks are texts; bytes, long texts and records in JSON
// are blobs; lists and maps are arrays and objects. It is immutable.
type cells struct {
	columns []string
	fields  []record.StoredField
	keyed   bool // the first cell is the key, as no field is
	whole   bool // the last cell is the record, whose fields are unknown
}

// newCells returns the cells of a collection.
func newCells(s *record.Stored) *cells {
	c := &cells{fields: s.Fields()}
	if c.whole = s.Codec() != record.CodecBinary; c.whole || len(s.Key()) == 0 {
		c.keyed, c.columns = true, append(c.columns, "(key)")
	}
	for _, f := range c.fields {
		c.columns = append(c.columns, f.Name)
	}
	if c.whole {
		c.columns = append(c.columns, "record")
	}
	return c
}

// row returns the cells of a row, and their size.
func (c *cells) row(row record.Row) (all []json.RawMessage, size int, err error) {
	var values []any
	if c.keyed {
		key, err := row.Key()
		if err != nil {
			return nil, 0, err
		}
		values = append(values, keyCell(key))
	}
	for _, f := range c.fields {
		v, err := fieldCell(row, f)
		if err != nil {
			return nil, 0, err
		}
		values = append(values, v)
	}
	if c.whole {
		values = append(values, recordCell(row.Stored()))
	}
	for _, v := range values {
		p, err := json.Marshal(v)
		if err != nil {
			return nil, 0, err
		}
		all, size = append(all, p), size+len(p)
	}
	return all, size, nil
}

// keyCell returns what is shown of a key.
func keyCell(key tuple.Tuple) any {
	if len(key) == 1 {
		return show(key[0])
	}
	return show([]any(key))
}

// recordCell returns what is shown of a record whose fields are unknown. JSON is not decoded on the
// way, as JavaScript has fewer numbers than JSON.
func recordCell(p []byte) blob {
	b := head(p, len(p), cellShown)
	b.JSON = !b.Cut && b.Text != nil && json.Valid(p)
	return b
}

// fieldCell returns what is shown of a field. It copies no more of a long value than it shows.
func fieldCell(row record.Row, f record.StoredField) (any, error) {
	switch f.Type {
	case "string":
		p, err := row.Bytes(f.Name)
		return text(p), err
	case "bytes":
		p, err := row.Bytes(f.Name)
		return head(p, len(p), cellShown), err
	case "bool", "time", "uuid", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
		"uint64", "float32", "float64":
	default:
		if n := len(row.Stored()); n > partsFrom {
			return head(nil, n, 0), nil
		}
	}
	v, err := row.Value(f.Name)
	return show(v), err
}

// text returns what is shown of a text.
func text(p []byte) any {
	if len(p) <= cellShown && utf8.Valid(p) {
		return string(p)
	}
	return head(p, len(p), cellShown)
}

// show returns what is shown of a value.
func show(v any) any {
	switch v := v.(type) {
	case string:
		return text([]byte(v))
	case []byte:
		return head(v, len(v), cellShown)
	case int64:
		if v > exactMost || v < -exactMost {
			return strconv.FormatInt(v, 10)
		}
	case uint64:
		if v > exactMost {
			return strconv.FormatUint(v, 10)
		}
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return strconv.FormatFloat(v, 'g', -1, 64)
		}
	case time.Time:
		return v.Format(time.RFC3339Nano)
	case [16]byte:
		h := hex.EncodeToString(v[:])
		return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
	case []any:
		list := make([]any, 0, min(len(v), elementsMost))
		for _, e := range v[:min(len(v), elementsMost)] {
			list = append(list, show(e))
		}
		if n := len(v) - len(list); n > 0 {
			list = append(list, fmt.Sprintf("… %d more", n))
		}
		return list
	case map[any]any:
		m := make(map[string]any, len(v))
		for key, e := range v {
			m[fmt.Sprint(show(key))] = e
		}
		return showMap(m)
	case map[string]any:
		return showMap(v)
	}
	return v
}

// showMap returns what is shown of a map.
func showMap(v map[string]any) any {
	names := make([]string, 0, len(v))
	for name := range v {
		names = append(names, name)
	}
	slices.Sort(names)
	m := map[string]any{}
	for _, name := range names[:min(len(names), elementsMost)] {
		m[name] = show(v[name])
	}
	if n := len(v) - len(m); n > 0 {
		m["…"] = fmt.Sprintf("%d more", n)
	}
	return m
}
