package main

import (
	"database/sql"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/stoatdb/stoat/internal/commands/jsontext"
	"github.com/stoatdb/stoat/tuple"
)

const keyBytesMax = 65_535

// keyForm is the form in which a primary key becomes a key.
type keyForm string

// The forms of keys.
const (
	keyByType keyForm = ""      // a single text or blob as it is, anything else as a tuple
	keyTuple  keyForm = "tuple" // as in package tuple
	keyText   keyForm = "text"  // a single column as text
	keyRowid  keyForm = "rowid" // the rowid, as a tuple
)

// badRow is an error about one row, which can be skipped.
type badRow struct{ err error }

func (e badRow) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e badRow) Unwrap() error { return e.err }

func badf(format string, args ...any) error { return badRow{fmt.Errorf(format, args...)} }

// sqliteColumn is a column of a table.
type sqliteColumn struct {
	name string
	kind string // as declared, in upper case
}

// sqliteTable is a table of SQLite, and its current row. It is not safe for concurrent use.
type sqliteTable struct {
	name    string
	rowid   bool // the table has one
	columns []sqliteColumn
	key     []int   // the columns of the primary key; empty for the rowid
	alias   string  // a name under which the rowid can be selected; may be empty
	form    keyForm // of the key
	asText  bool    // the key is a single column that is text
	asBytes bool    // the key is a single column that is a blob

	values  []any // of the current row: the columns, and the rowid if it is the key
	targets []any // pointers to them
	object  []byte
	keyed   []byte
}

// describe reads the columns of the table and determines its key.
func (t *sqliteTable) describe(tx *sql.Tx, form keyForm) error {
	rows, err := tx.Query(`SELECT name, upper(type), pk FROM pragma_table_xinfo(?)
		WHERE hidden <> 1 ORDER BY cid`, t.name)
	if err != nil {
		return err
	}
	defer rows.Close() // Err returns the error
	parts := map[int]int{}
	for rows.Next() {
		var c sqliteColumn
		var part int
		if err := rows.Scan(&c.name, &c.kind, &part); err != nil {
			return err
		}
		if !utf8.ValidString(c.name) {
			return fmt.Errorf("the name of column %d is not valid UTF-8", len(t.columns)+1)
		}
		if part > 0 {
			parts[part] = len(t.columns)
		}
		t.columns = append(t.columns, c)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for part := 1; part <= len(parts); part++ {
		t.key = append(t.key, parts[part])
	}
	return t.decide(form)
}

// decide chooses the key and allocates a row.
func (t *sqliteTable) decide(form keyForm) error {
	if t.rowid {
		for _, name := range []string{"rowid", "_rowid_", "oid"} {
			if !slices.ContainsFunc(t.columns, func(c sqliteColumn) bool {
				return strings.EqualFold(c.name, name)
			}) {
				t.alias = name
				break
			}
		}
	}
	t.form = form
	if form == keyRowid && t.rowid {
		t.key, t.form = nil, keyTuple
	}
	if len(t.key) == 0 && t.alias == "" {
		return errors.New("it has no primary key, and its columns use all names of the rowid: give it " +
			"a primary key first")
	}
	if form == keyText && len(t.key) > 1 {
		return fmt.Errorf("its primary key has %d columns, but -keys-as text needs one", len(t.key))
	}
	if form == keyByType && len(t.key) == 1 {
		kind := t.columns[t.key[0]].kind
		t.asText = !strings.Contains(kind, "INT") && (strings.Contains(kind, "CHAR") ||
			strings.Contains(kind, "CLOB") || strings.Contains(kind, "TEXT"))
		t.asBytes = kind == "BLOB"
	}
	t.values = make([]any, len(t.columns), len(t.columns)+1)
	if len(t.key) == 0 {
		t.values = append(t.values, nil)
	}
	t.targets = make([]any, len(t.values))
	for i := range t.values {
		t.targets[i] = &t.values[i]
	}
	return nil
}

// query returns the query for all rows after a number of rows, in key order. The plus signs keep
// the driver from converting values to the declared column types.
func (t *sqliteTable) query() string {
	var wanted, order []string
	for _, c := range t.columns {
		wanted = append(wanted, "+"+identifier(c.name))
	}
	if len(t.key) == 0 {
		wanted = append(wanted, "+"+t.alias)
	}
	if t.alias != "" {
		order = []string{t.alias}
	} else {
		for _, i := range t.key {
			order = append(order, identifier(t.columns[i].name))
		}
	}
	return "SELECT " + strings.Join(wanted, ", ") + " FROM main." + identifier(t.name) +
		" ORDER BY " + strings.Join(order, ", ") + " LIMIT -1 OFFSET ?"
}

// identifier quotes a name for SQL.
func identifier(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// last returns the largest rowid if the key is the rowid or an alias of it, otherwise 0.
func (t *sqliteTable) last(tx *sql.Tx) (uint64, error) {
	named := len(t.key) == 1 && t.columns[t.key[0]].kind == "INTEGER"
	if !t.rowid || t.alias == "" || len(t.key) > 0 && !named {
		return 0, nil
	}
	var last sql.NullInt64
	err := tx.QueryRow("SELECT max(" + t.alias + ") FROM main." + identifier(t.name)).Scan(&last)
	if err != nil || last.Int64 < 0 {
		return 0, err
	}
	return uint64(last.Int64), nil
}

// entry returns the key and the value of the current row, valid until the next row.
func (t *sqliteTable) entry() (key, value []byte, err error) {
	t.object = append(t.object[:0], '{')
	for i, c := range t.columns {
		if i > 0 {
			t.object = append(t.object, ',')
		}
		t.object = append(jsontext.Append(t.object, c.name), ':')
		if t.object, err = appendValue(t.object, t.values[i]); err != nil {
			return nil, nil, badf("column %q: %w", c.name, err)
		}
	}
	t.object = append(t.object, '}')
	if t.keyed, err = t.appendKey(t.keyed[:0]); err != nil {
		return nil, nil, err
	}
	switch n := len(t.keyed); {
	case n == 0:
		return nil, nil, badf("the key is empty")
	case n > keyBytesMax:
		return nil, nil, badf("the key has %d bytes, at most %d", n, keyBytesMax)
	}
	return t.keyed, t.object, nil
}

// appendKey appends the key of the current row.
func (t *sqliteTable) appendKey(dst []byte) ([]byte, error) {
	key := t.key
	if len(key) == 0 {
		key = []int{len(t.columns)}
	}
	if t.form == keyText {
		return appendPlain(dst, t.values[key[0]])
	}
	for _, i := range key {
		v := t.values[i]
		text, isText := v.(string)
		blob, isBlob := v.([]byte)
		switch {
		case v == nil:
			return nil, badf("the primary key is NULL: import with -keys-as rowid")
		case t.asText && isText:
			return append(dst, text...), nil
		case t.asBytes && isBlob:
			return append(dst, blob...), nil
		case t.asText || t.asBytes:
			return nil, badf("the primary key does not have its column's declared type, %s: import with "+
				"-keys-as tuple", t.columns[i].kind)
		}
		switch v := v.(type) {
		case int64:
			dst = tuple.AppendInt(dst, v)
		case float64:
			dst = tuple.AppendFloat(dst, v)
		case string:
			dst = tuple.AppendString(dst, v)
		case []byte:
			dst = tuple.AppendBytes(dst, v)
		default:
			return nil, badf("a primary key of the type %T", v)
		}
	}
	return dst, nil
}

// appendPlain appends a value as text.
func appendPlain(dst []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case int64:
		return strconv.AppendInt(dst, v, 10), nil
	case string:
		return append(dst, v...), nil
	case []byte:
		return append(dst, v...), nil
	case float64:
		return appendFloat(dst, v), nil
	}
	return nil, badf("the primary key is NULL: import with -keys-as rowid")
}

// appendValue appends a value as JSON; a blob becomes base64.
func appendValue(dst []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...), nil
	case int64:
		return strconv.AppendInt(dst, v, 10), nil
	case float64:
		return appendFloat(dst, v), nil
	case string:
		if !utf8.ValidString(v) {
			return dst, errors.New("the text is not valid UTF-8")
		}
		return jsontext.Append(dst, v), nil
	case []byte:
		dst = base64.StdEncoding.AppendEncode(append(dst, '"'), v)
		return append(dst, '"'), nil
	}
	return dst, fmt.Errorf("a value of the type %T", v)
}

// appendFloat appends a number that does not look like an integer. A number outside the range of
// common JSON readers is written as in SQLite.
func appendFloat(dst []byte, v float64) []byte {
	switch {
	case math.IsInf(v, 1):
		return append(dst, "9e999"...)
	case math.IsInf(v, -1):
		return append(dst, "-9e999"...)
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, v, 'g', -1, 64)
	if !slices.ContainsFunc(dst[start:], func(c byte) bool { return c == '.' || c == 'e' }) {
		dst = append(dst, ".0"...)
	}
	return dst
}
