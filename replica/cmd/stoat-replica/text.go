package main

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/stoatdb/stoat/internal/commands/columns"
	"github.com/stoatdb/stoat/replica"
	"github.com/stoatdb/stoat/tuple"
)

// longIDs are ids with all their digits. It is immutable.
var longIDs = regexp.MustCompile("[0-9a-f]{64}")

// shortIDs returns a text with its ids as tables show them.
func shortIDs(text string) string {
	return longIDs.ReplaceAllStringFunc(text, func(id string) string { return id[:shortDigits] })
}

// paragraph prints a text in lines that fit, indented, with short ids.
func paragraph(s *stdio, text string) error {
	const indent = "    "
	line := indent
	for _, word := range strings.Fields(shortIDs(text)) {
		width := utf8.RuneCountInString(line + " " + word)
		if line != indent && width > columns.Max {
			fmt.Fprintln(s.out, line)
			line = indent
		}
		if line != indent {
			line += " "
		}
		line += word
	}
	_, err := fmt.Fprintln(s.out, line)
	return err
}

// keyText returns the key of a record as people write it.
func keyText(key tuple.Tuple) string {
	if len(key) == 1 {
		return valueText(key[0])
	}
	return valueText([]any(key))
}

// valueText returns a value as people read it, on one line.
func valueText(v any) string {
	switch v := v.(type) {
	case nil:
		return "nil"
	case string:
		return quote(v)
	case []byte:
		return "0x" + hex.EncodeToString(v)
	case [16]byte:
		return uuidText(v)
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano)
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = valueText(v[i])
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case map[any]any:
		parts := map[string]string{}
		for key, of := range v {
			parts[valueText(key)] = valueText(of)
		}
		return mapText(parts)
	case map[string]any:
		parts := map[string]string{}
		for key, of := range v {
			parts[key] = valueText(of)
		}
		return mapText(parts)
	}
	return fmt.Sprint(v)
}

func mapText(parts map[string]string) string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(parts)) {
		all = append(all, key+": "+parts[key])
	}
	return "{" + strings.Join(all, ", ") + "}"
}

// quote returns text as it is if it is a plain word, and else in quotes.
func quote(text string) string {
	plain := text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_.@/", r)
	})
	if _, err := strconv.ParseFloat(text, 64); plain && err != nil {
		return text
	}
	return strconv.Quote(text)
}

func uuidText(id [16]byte) string {
	x := hex.EncodeToString(id[:])
	return strings.Join([]string{x[:8], x[8:12], x[12:16], x[16:20], x[20:]}, "-")
}

// jsonValue returns a value in a form that package json writes: bytes in base64, the keys of maps
// as text.
func jsonValue(v any) any {
	switch v := v.(type) {
	case [16]byte:
		return uuidText(v)
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = jsonValue(v[i])
		}
		return list
	case tuple.Tuple:
		return jsonValue([]any(v))
	case map[any]any:
		m := map[string]any{}
		for key, of := range v {
			name, isText := key.(string)
			if !isText {
				name = valueText(key)
			}
			m[name] = jsonValue(of)
		}
		return m
	case map[string]any:
		m := map[string]any{}
		for key, of := range v {
			m[key] = jsonValue(of)
		}
		return m
	case float64:
		if _, err := json.Marshal(v); err != nil { // infinite, or not a number
			return fmt.Sprint(v)
		}
	}
	return v
}

// fieldText returns what happened to a field.
func fieldText(f *replica.FieldChange) string {
	var parts []string
	for _, v := range f.Removed {
		parts = append(parts, "−"+valueText(v))
	}
	for i, v := range f.Added {
		text := "+" + valueText(v)
		if i < len(f.Values) {
			text += ": " + valueText(f.Values[i])
		}
		parts = append(parts, text)
	}
	switch f.Rule {
	case "elements", "entries":
		return f.Field + " " + strings.Join(parts, " ")
	case "sum":
		return fmt.Sprintf("%s %+d", f.Field, f.Value)
	case "max", "min":
		return fmt.Sprintf("%s %s %s", f.Field, f.Rule, valueText(f.Value))
	}
	return f.Field + " = " + valueText(f.Value)
}

// changeText returns what happened to a record.
func changeText(c *replica.Change) string {
	text := c.Collection + " " + keyText(c.Key)
	if c.Deleted {
		return text + " deleted"
	}
	var fields []string
	for i := range c.Fields {
		fields = append(fields, fieldText(&c.Fields[i]))
	}
	if len(fields) == 0 {
		return text
	}
	return text + ": " + strings.Join(fields, ", ")
}

func jsonValues[T any](values []T) []any {
	var all []any
	for _, v := range values {
		all = append(all, jsonValue(v))
	}
	return all
}
