package main

import (
	"encoding/base64"
	"math"
	"strconv"
	"time"
)

// base64Suffix ends the name of a field or column that holds base64 instead of text, because the
// bytes may not be valid UTF-8.
const base64Suffix = "64"

// decoded returns the bytes of a text in the field or column of that name.
func decoded(text []byte, encoded bool, name string) ([]byte, error) {
	if !encoded {
		return text, nil
	}
	b, err := base64.StdEncoding.AppendDecode(nil, text)
	if err != nil {
		return nil, badf("%q is not base64: %w", name, err)
	}
	return b, nil
}

// fieldBytes returns the bytes of a field of a JSON object, or of the field that holds their
// base64: the text of a string, or any other value unchanged; found is false if there is neither
// field.
func fieldBytes(o *jsonObject, name string) (b []byte, isText, found bool, err error) {
	raw, ok := o.get(name)
	encoded := false
	if !ok {
		if raw, encoded = o.get(name + base64Suffix); !encoded {
			return nil, false, false, nil
		}
		name += base64Suffix
	}
	if raw[0] != '"' {
		if encoded {
			err = badf("the field %q is not base64 text", name)
		}
		return raw, false, true, err
	}
	b, err = decoded(unquoted(raw), encoded, name)
	return b, true, true, err
}

// parseExpiry parses a time in the form of RFC 3339, or in seconds since 1970; an empty text means
// never, which is the zero time.
func parseExpiry(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		if at.UTC().Year() > lastMoment.Year() {
			return time.Time{}, badf("%q is after the year %d", text, lastMoment.Year())
		}
		return at, nil
	}
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(seconds) || math.Abs(seconds) > 1e11 {
		return time.Time{}, badf("%q is no time of expiry: want one like 2030-01-02T15:04:05Z, or "+
			"seconds since 1970", text)
	}
	return time.UnixMilli(int64(math.Round(seconds * 1000))), nil
}
