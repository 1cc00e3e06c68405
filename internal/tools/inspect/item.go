package inspect

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	columns    = 80
	offsetCols = 10 // for an item's offset
	nestCols   = 2  // for each level that an item is nested
)

// item is something found in a file: what it is, where, and what is to be said of it.
type item struct {
	at     int64 // offset in the file; less than 0 if that is the item's before
	depth  int   // it belongs to the item before that is less deep
	what   string
	fields []field
}

func at(offset int64) item { return item{at: offset} }

// inner returns an item that belongs to the one before.
func inner(depth int) item { return item{at: -1, depth: depth} }

// note returns what is to be said of the item before.
func note(text string) item { return inner(1).called("note").with(prose("text", text)) }

func (i item) called(what string) item { i.what = what; return i }

func (i item) with(fields ...field) item {
	for _, f := range fields {
		if f.name != "" {
			i.fields = append(i.fields, f)
		}
	}
	return i
}

// field is a property of an item. One without a name is left out.
type field struct {
	name string // as JSON has it
	text string
	json json.RawMessage
	long bool // the text is prose, whose lines may break between words
}

func number(name string, n uint64) field {
	digits := strconv.FormatUint(n, 10)
	return field{name: name, text: name + " " + digits, json: json.RawMessage(digits)}
}

// ordinal is the number of which the item says what it is the number of.
func ordinal(format string, n uint64) field {
	digits := json.RawMessage(strconv.FormatUint(n, 10))
	return field{name: "number", text: fmt.Sprintf(format, n), json: digits}
}

// nonzero is number, and nothing for 0.
func nonzero(name string, n uint64) field {
	if n == 0 {
		return field{}
	}
	return number(name, n)
}

// count is how many of what the noun says there are.
func count(n uint64, noun string) field {
	digits := strconv.FormatUint(n, 10)
	text := digits + " " + plural(noun)
	if n == 1 {
		text = digits + " " + noun
	}
	return field{name: plural(noun), text: text, json: json.RawMessage(digits)}
}

func plural(noun string) string {
	if stem, ok := strings.CutSuffix(noun, "y"); ok && noun != "key" {
		return stem + "ies"
	}
	return noun + "s"
}

// some is count, and nothing for 0.
func some(n uint64, noun string) field {
	if n == 0 {
		return field{}
	}
	return count(n, noun)
}

func word(name, text string) field {
	return field{name: name, text: name + " " + text, json: quoted(text)}
}

func prose(name, text string) field {
	return field{name: name, text: text, json: quoted(text), long: true}
}

// mark is the name alone, and nothing unless set.
func mark(name string, set bool) field {
	if !set {
		return field{}
	}
	return field{name: name, text: name, json: json.RawMessage("true")}
}

// moment is a time in milliseconds since 1970, and nothing for 0.
func moment(name string, millis uint64) field {
	const lastMillis = 253_402_300_799_999 // of the year 9999
	if millis == 0 {
		return field{}
	}
	text := strconv.FormatUint(millis, 10)
	if millis <= lastMillis {
		text = time.UnixMilli(int64(millis)).UTC().Format("2006-01-02T15:04:05.999Z")
	}
	return field{name: name, text: name + " " + text, json: number(name, millis).json}
}

// quoted returns text as JSON has it.
func quoted(text string) json.RawMessage {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // a string builder takes everything, and so does JSON of a string
	return json.RawMessage(strings.TrimSuffix(b.String(), "\n"))
}

// printer writes items. After an error it writes nothing.
type printer struct {
	w      io.Writer
	json   bool
	damage int // how much there is
	err    error
}

func (p *printer) damaged(offset int64, format string, args ...any) {
	p.damage++
	p.put(at(offset).called("DAMAGE").with(prose("reason", fmt.Sprintf(format, args...))))
}

func (p *printer) end() {
	if p.json {
		p.put(at(-1).called("end").with(number("damage", uint64(p.damage))))
		return
	}
	switch p.damage {
	case 0:
		p.write("no damage found\n")
	case 1:
		p.write("damaged in one place\n")
	default:
		p.write(fmt.Sprintf("damaged in %d places\n", p.damage))
	}
}

func (p *printer) put(i item) {
	if p.json {
		p.write(i.object())
	} else {
		p.write(i.lines())
	}
}

func (p *printer) write(text string) {
	if p.err != nil {
		return
	}
	if _, err := io.WriteString(p.w, text); err != nil {
		p.err = fmt.Errorf("write the output: %w", err)
	}
}

func (i item) object() string {
	var b strings.Builder
	b.WriteString("{")
	if i.at >= 0 {
		fmt.Fprintf(&b, `"at":%d,`, i.at)
	}
	fmt.Fprintf(&b, `"what":%s`, quoted(strings.ToLower(i.what)))
	for _, f := range i.fields {
		fmt.Fprintf(&b, `,%s:%s`, quoted(strings.ReplaceAll(f.name, " ", "_")), f.json)
	}
	b.WriteString("}\n")
	return b.String()
}

// lines returns the item as text. Lines break between fields, and in prose between words.
func (i item) lines() string {
	var b strings.Builder
	indent := offsetCols + 2 + nestCols*i.depth
	lead := strings.Repeat(" ", indent)
	if i.at >= 0 {
		lead = fmt.Sprintf("%*d", offsetCols, i.at) + lead[offsetCols:]
	}
	b.WriteString(lead + i.what)
	column := utf8.RuneCountInString(lead + i.what)
	gap := "  "
	for n, f := range i.fields {
		pieces := []string{f.text}
		if f.long {
			pieces = strings.Fields(f.text)
		}
		for m, piece := range pieces {
			if n < len(i.fields)-1 && m == len(pieces)-1 {
				piece += ","
			}
			size := utf8.RuneCountInString(piece)
			if column+len(gap)+size > columns {
				gap = "\n" + strings.Repeat(" ", indent+nestCols)
				column = 0
			}
			b.WriteString(gap + piece)
			column += len(strings.TrimPrefix(gap, "\n")) + size
			gap = " "
		}
	}
	b.WriteString("\n")
	return b.String()
}
