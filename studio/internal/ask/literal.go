package ask

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/stoatdb/stoat/record"
)

// column is a field as queries see it.
type column struct {
	name, typ string
	kind      string // of its elements: the stored type without "list of" and "optional"
	list      bool
	optional  bool
}

// columnOf returns the column of a field.
func columnOf(f record.StoredField) column {
	c := column{name: f.Name, typ: f.Type, kind: f.Type}
	if elem, ok := strings.CutPrefix(f.Type, "list of "); ok {
		c.kind, c.list = elem, true
	} else if elem, ok := strings.CutPrefix(f.Type, "optional "); ok {
		c.kind, c.optional = elem, true
	}
	return c
}

// scalar reports whether the column can be compared.
func (c *column) scalar() bool {
	switch c.kind {
	case "bool", "string", "bytes", "time", "uuid":
		return true
	}
	return c.integer() || c.float()
}

func (c *column) integer() bool {
	return strings.HasPrefix(strings.TrimPrefix(c.kind, "u"), "int")
}

func (c *column) float() bool { return c.kind == "float32" || c.kind == "float64" }

// literal reads a value to compare the column with.
func (p *parser) literal(c *column) (record.Value, error) {
	t := p.take()
	if t.is("null") && c.optional {
		return nil, nil
	}
	v, err := p.value(c, t)
	if err != "" {
		return nil, &Error{t.column, fmt.Sprintf("%s has type %s: %s", c.name, c.typ, err)}
	}
	return v, nil
}

// value returns what a token means for the column, or what is wrong with it.
func (p *parser) value(c *column, t token) (v record.Value, wrong string) {
	switch {
	case c.integer():
		return integer(t)
	case c.float():
		return p.float(t)
	case c.kind == "bool":
		if t.is("true") || t.is("false") {
			return t.is("true"), ""
		}
		return nil, "write true or false, not " + t.String()
	case c.kind == "time":
		return p.moment(t)
	case c.kind == "uuid":
		return uuid(t)
	case c.kind == "bytes" && (t.kind == raw || t.kind == quoted):
		return []byte(t.text), ""
	case c.kind == "bytes":
		return nil, `write bytes as x"00ff", or a text in quotes`
	case t.kind != quoted:
		return nil, "write the text in quotes, not " + t.String()
	}
	return t.text, ""
}

// integer returns a whole number.
func integer(t token) (record.Value, string) {
	text, negative := strings.CutPrefix(strings.TrimPrefix(t.text, "+"), "-")
	base := 10
	if digits, ok := strings.CutPrefix(text, "0x"); ok {
		text, base = digits, 16
	}
	n, err := strconv.ParseUint(strings.ReplaceAll(text, "_", ""), base, 64)
	switch {
	case t.kind != number || err != nil && !errors.Is(err, strconv.ErrRange):
		return nil, "write a whole number, not " + t.String()
	case err != nil || negative && n > 1<<63:
		return nil, t.String() + " does not fit in 64 bits"
	case negative:
		return -int64(n), ""
	case n > math.MaxInt64:
		return n, ""
	}
	return int64(n), ""
}

// float returns a number; the token may be the sign of infinity.
func (p *parser) float(t token) (record.Value, string) {
	switch {
	case t.is("nan"):
		return math.NaN(), ""
	case t.is("inf"), t.is("+") && p.skip("inf"):
		return math.Inf(1), ""
	case t.is("-") && p.skip("inf"):
		return math.Inf(-1), ""
	}
	v, err := strconv.ParseFloat(strings.ReplaceAll(t.text, "_", ""), 64)
	if t.kind != number || err != nil {
		return nil, "write a number, not " + t.String()
	}
	return v, ""
}

// layouts are how times are written. It is immutable.
var layouts = [...]string{time.RFC3339Nano, "2006-01-02 15:04:05Z07:00", "2006-01-02T15:04:05",
	"2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02T15:04", "2006-01-02"}

// moment returns a time; the token may be followed by a duration.
func (p *parser) moment(t token) (record.Value, string) {
	if t.is("now") {
		return p.fromNow()
	}
	if t.kind == quoted {
		for _, layout := range layouts {
			if at, err := time.Parse(layout, t.text); err == nil {
				return at, ""
			}
		}
	}
	return nil, `write "2026-01-31", "2026-01-31 12:00", or now, not ` + t.String()
}

// fromNow returns the time that is a duration before or after now.
func (p *parser) fromNow() (record.Value, string) {
	sign := ""
	switch t := p.peek(); {
	case t.is("+") || t.is("-"):
		sign = p.take().text
	case t.kind != number || t.text[0] != '+' && t.text[0] != '-':
		return p.now, ""
	}
	t := p.take()
	if days, ok := strings.CutSuffix(t.text, "d"); ok && t.kind == number {
		n, err := strconv.ParseFloat(sign+days, 64)
		if err == nil && math.Abs(n) < 100_000 {
			return p.now.Add(time.Duration(n * 24 * float64(time.Hour))), ""
		}
	}
	d, err := time.ParseDuration(sign + t.text)
	if t.kind != number || err != nil {
		return nil, "write a duration, as in now - 36h or now + 7d, not " + t.String()
	}
	return p.now.Add(d), ""
}

// uuid returns 16 bytes.
func uuid(t token) (record.Value, string) {
	const hint = `write "6ba7b810-9dad-11d1-80b4-00c04fd430c8", not `
	digits := t.text
	if len(digits) == 36 && digits[8] == '-' && digits[13] == '-' && digits[18] == '-' &&
		digits[23] == '-' {
		digits = strings.ReplaceAll(digits, "-", "")
	}
	p, err := hex.DecodeString(digits)
	if t.kind == raw {
		p, err = []byte(t.text), nil
	}
	if t.kind != quoted && t.kind != raw || err != nil || len(p) != 16 {
		return nil, hint + t.String()
	}
	return [16]byte(p), ""
}
