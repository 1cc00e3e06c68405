package batch

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/keyspace"
)

// golden are entries of each kind and the bytes that they are in the log, for ever.
func golden() map[string]entry {
	return map[string]entry{
		"\x01\x03\x05keyvalue": put("key", "value"),
		"\x01\x01\x00k":        put("k", ""),
		"\x81\x03\x05\x08\x07\x06\x05\x04\x03\x02\x01keyvalue": putUntil(0x0102030405060708, "key",
			"value"),
		"\x81\x01\x00\xff\xff\xff\xff\xff\xff\xff\xffk": putUntil(math.MaxUint64, "k", ""),
		"\x02\x03key":     tombstone("key"),
		"\x04\x01\x02bbc": deleteRange("b", "bc"),
		"\x01\xac\x02\xc8\x01" + strings.Repeat("k", 300) + strings.Repeat("v", 200): put(
			strings.Repeat("k", 300), strings.Repeat("v", 200)),
	}
}

func TestEncoding_isWhatItAlwaysWas(t *testing.T) {
	for want, e := range golden() {
		a := NewArena(0)
		a.Begin()
		appendAll(a, []entry{e})
		if got := string(a.Take(0)[0]); got != want {
			t.Errorf("%.60q is encoded as %.60q, want %.60q", e, got, want)
		}
		if got, err := decode([]byte(want)); err != nil || len(got) != 1 || got[0] != e {
			t.Errorf("%.60q is decoded as %.60q, %v, want %.60q", want, got, err, e)
		}
	}
}

func TestAppend_leavesOutWhatDoesNotCount(t *testing.T) {
	a := NewArena(0)
	a.Begin()
	a.Append(keyspace.KindDelete, 7, []byte("k"), []byte("value"))
	a.Append(keyspace.KindDeleteRange, 7, []byte("k"), []byte("l"))
	if got, want := string(a.Take(0)[0]), "\x02\x01k\x04\x01\x01kl"; got != want {
		t.Errorf("a tombstone and a range deletion are encoded as %q, want %q", got, want)
	}
}

func TestReplay_refusesWhatAnArenaNeverWrites(t *testing.T) {
	const until = "\x01\x00\x00\x00\x00\x00\x00\x00"
	tests := map[string]string{
		"kind 0":                   "\x00\x01\x00k",
		"pointer":                  "\x03\x01\x00k",
		"unknown kind":             "\x05\x01\x00k",
		"flag without a kind":      "\x80\x01\x00" + until + "k",
		"other flag":               "\x41\x01\x00k",
		"nothing behind kind":      "\x01",
		"no key":                   "\x01\x00\x00",
		"no value length":          "\x01\x01",
		"key cut off":              "\x02\x02k",
		"value cut off":            "\x01\x01\x02kv",
		"long form of a length":    "\x01\x81\x00\x00k",
		"length without an end":    "\x01\x81",
		"length above 64 bits":     "\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x00k",
		"key longer than any":      "\x01\x8a\x80\x04\x00" + strings.Repeat("k", 65_546),
		"value longer than any":    "\x01\x01\x81\x80\x80\x80\x04k" + strings.Repeat("v", 100),
		"sum of lengths is huge":   "\x01\x89\x80\x04\x80\x80\x80\x80\x04kv",
		"expiry at 0":              "\x81\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00k",
		"expiry cut off":           "\x81\x01\x00\x01\x00\x00\x00\x00\x00\x00",
		"nothing behind expiry":    "\x81\x01\x00" + until,
		"value behind it cut off":  "\x81\x01\x01" + until + "k",
		"tombstone that expires":   "\x82\x01" + until + "k",
		"range that expires":       "\x84\x01\x01" + until + "kl",
		"range without end":        "\x04\x01\x00k",
		"range of nothing":         "\x04\x01\x01kk",
		"range in the wrong order": "\x04\x01\x01lk",
		"range's end cut off":      "\x04\x01\x02kl",
	}
	good := "\x01\x01\x01kv"
	for name, payload := range tests {
		entries, err := decode([]byte(good + payload))
		var damage *corrupt.Error
		if !errors.As(err, &damage) || damage.Offset != int64(len(good)) || len(entries) != 1 {
			t.Errorf("%s: error %v after %d entries, want damage at %d after 1", name, err,
				len(entries), len(good))
		}
	}
}

func TestParseEntry_takesTheLongestKeyAndValue(t *testing.T) {
	longest := "\x01\x89\x80\x04\x80\x80\x80\x80\x04" // the lengths of a put
	if _, _, reason := parseEntry([]byte(longest)); reason != "entry is cut off" {
		t.Errorf("lengths at the limits: %q, want them to pass", reason)
	}
}

// A frame of the largest entry, and every place in it, must be a number that 32 bits hold, for the
// log and for refs, and that an int of a 32-bit platform holds.
func TestLimits_fitIntoTheFieldsOfFrameAndRef(t *testing.T) {
	const before = 1 + 3 + 5 + 8 // kind, length of key, length of value, until
	const frame = headroom + before + keyspace.MaxInternalKeyBytes + keyspace.MaxValueBytes
	if uint64(frame) > math.MaxInt32 {
		t.Errorf("a frame may have %d bytes", uint64(frame))
	}
	if frame != headroom+maxPayloadBytes {
		t.Errorf("a payload may have %d bytes, want %d", maxPayloadBytes, uint64(frame-headroom))
	}
	if got := uvarintLen(keyspace.MaxInternalKeyBytes) + uvarintLen(keyspace.MaxValueBytes); got != 8 {
		t.Errorf("the lengths of the largest entry take %d bytes, want 8", got)
	}
	ref := Ref{
		offset:     headroom + before,
		keyAndCode: keyspace.MaxInternalKeyBytes<<8 | untilFlag | uint32(keyspace.KindPut),
		valueBytes: keyspace.MaxValueBytes,
	}
	if ref.KeyLen() != keyspace.MaxInternalKeyBytes || ref.Kind() != keyspace.KindPut {
		t.Errorf("a ref holds a key of %d bytes", ref.KeyLen())
	}
	if end := ref.offset + uint32(ref.KeyLen()) + ref.valueBytes; end != frame {
		t.Errorf("the value ends at %d, want %d", end, uint64(frame))
	}
}

// FuzzReplay checks that Replay accepts only what encodes to the same bytes again.
func FuzzReplay(f *testing.F) {
	for payload := range golden() {
		f.Add([]byte(payload))
		f.Add([]byte(payload + "\x01\x81\x00\x00k"))
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		entries, err := decode(payload)
		a := NewArena(0)
		a.Begin()
		appendAll(a, entries)
		again := bytes.Join(a.Take(0), nil)
		if err == nil && !bytes.Equal(again, payload) {
			t.Errorf("decoded %x, which encodes to %x", payload, again)
		}
		var read []entry
		readErr := Read(payload, func(key []byte, e keyspace.Entry) error {
			read = append(read, entry{e.Kind, e.Until, string(key), string(e.Value)})
			return nil
		})
		if !slices.Equal(read, entries) || fmt.Sprint(readErr) != fmt.Sprint(err) {
			t.Errorf("Read finds %v, %v, want %v, %v", read, readErr, entries, err)
		}
		var damage *corrupt.Error
		if err != nil && (!errors.As(err, &damage) || damage.Offset != int64(len(again)) ||
			!bytes.HasPrefix(payload, again)) {
			t.Errorf("error %v for %x after %x", err, payload, again)
		}
	})
}
