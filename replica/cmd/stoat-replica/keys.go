package main

import (
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/stoatdb/stoat/internal/commands/cmdline"
	"github.com/stoatdb/stoat/record"
	"github.com/stoatdb/stoat/tuple"
)

// parseKey returns the keys of records that an argument may stand for, the likeliest first: 7 may
// be a number or text. A list in JSON is a key of several fields.
func parseKey(text string) ([]record.Key, error) {
	if !strings.HasPrefix(text, "[") {
		return scalars(text), nil
	}
	var list []json.RawMessage
	if err := json.Unmarshal([]byte(text), &list); err != nil || len(list) == 0 {
		return nil, cmdline.Usagef("KEY %s: want a word, a number, or a list like [\"ann\", 7]", text)
	}
	key := make(tuple.Tuple, len(list))
	for i, element := range list {
		var word string
		if json.Unmarshal(element, &word) != nil {
			key[i] = scalars(string(element))[0]
			continue
		}
		key[i] = word
		if all := scalars(word); len(all) > 1 && !numeric(all[0]) {
			key[i] = all[0] // a UUID, a time or bytes, which JSON has as text only
		}
	}
	return []record.Key{key}, nil
}

// numeric reports whether a value has a form of its own in JSON.
func numeric(v record.Key) bool {
	switch v.(type) {
	case int64, uint64, float64, bool:
		return true
	}
	return false
}

// scalars returns the scalars that a text may stand for.
func scalars(text string) []record.Key {
	var all []record.Key
	if v, err := strconv.ParseInt(text, 10, 64); err == nil {
		all = append(all, v)
	} else if v, err := strconv.ParseUint(text, 10, 64); err == nil {
		all = append(all, v)
	} else if v, err := strconv.ParseFloat(text, 64); err == nil {
		all = append(all, v)
	}
	if text == "true" || text == "false" {
		all = append(all, text == "true")
	}
	if id, err := hex.DecodeString(strings.ReplaceAll(text, "-", "")); err == nil &&
		len(id) == 16 && strings.Count(text, "-") == 4 {
		all = append(all, [16]byte(id))
	}
	if digits, ok := strings.CutPrefix(text, "0x"); ok {
		if v, err := hex.DecodeString(digits); err == nil {
			all = append(all, v)
		}
	}
	if v, err := time.Parse(time.RFC3339Nano, text); err == nil {
		all = append(all, v)
	}
	if word, err := strconv.Unquote(text); err == nil {
		return append(all, word)
	}
	return append(all, text)
}
