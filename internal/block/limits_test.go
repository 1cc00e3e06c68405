package block

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/internal/keyspace"
)

// Expanding keys whose prefix is longer than any key would take far more memory than the key part,
// even if its checksum is right.
func TestParseKeys_refusesKeysThatAreTooLong(t *testing.T) {
	for _, tail := range []string{"", "longer"} {
		for _, c := range []struct {
			size int
			ok   bool
		}{{keyspace.MaxInternalKeyBytes, true}, {keyspace.MaxInternalKeyBytes + 1, false}} {
			prefix := bytes.Repeat([]byte{'p'}, c.size-2-len(tail))
			keys := make([][]byte, 3)
			for i := range keys {
				keys[i] = append(bytes.Clone(prefix), byte(i>>8), byte(i))
			}
			last := len(keys) - 1
			keys[last] = append(keys[last], tail...)
			p := fill(keys, someValue).AppendKeys(nil)
			_, err := ParseKeys(p)
			if (err == nil) != c.ok {
				t.Errorf("keys of %d bytes and %q: error %v", c.size, tail, err)
			}
			if err != nil && !strings.Contains(err.Error(), "65546 bytes") {
				t.Errorf("error %q does not say how long the key is", err)
			}
		}
	}
}

// FuzzDecompress decodes any bytes as a zstd frame that claims to hold any number of bytes, and
// then real ones.
func FuzzDecompress(f *testing.F) {
	c := newCompressor(f)
	for _, text := range []string{"", "a", strings.Repeat("text ", 1000)} {
		frame := c.encoder.EncodeAll([]byte(text), nil)
		f.Add(frame, uint32(len(text)))
		f.Add(frame[:len(frame)/2], uint32(len(text)))
		f.Add(append(frame, frame...), uint32(2*len(text)))
	}
	d := new(Decompressor)
	f.Fuzz(func(t *testing.T, p []byte, size uint32) {
		n := int(size % (1 << 20))
		if got, err := d.decode(p, n); err == nil && len(got) > n {
			t.Fatalf("%d bytes where %d were expected", len(got), n)
		}
		frame := c.encoder.EncodeAll(p, nil)
		if got, err := d.decode(frame, len(p)); err != nil || !bytes.Equal(got, p) {
			t.Fatalf("%q comes back as %q, %v", p, got, err)
		}
		if len(p) > 0 {
			if got, err := d.decode(frame, len(p)-1); err == nil {
				t.Fatalf("%d bytes instead of %d", len(got), len(p)-1)
			}
		}
	})
}
