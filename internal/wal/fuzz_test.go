package wal

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/stoatdb/stoat/internal/checksum"
	"github.com/stoatdb/stoat/internal/fileheader"
)

// FuzzReplay replays frames with any content. The input is a list of frames: kind, commit, synced
// and length in a byte each, and a byte that says which checksums are corrected. The replay must
// match the frames, and must be the same after it is written to a new log.
func FuzzReplay(f *testing.F) {
	f.Add([]byte{1, 1, 0, 2, 3, 'a', 'b', 1, 2, 0, 0, 3})
	f.Add([]byte{2, 1, 0, 1, 3, 'a', 4, 1, 0, 1, 3, 'b', 1, 2, 90, 1, 3, 'c'})
	f.Add([]byte{1, 1, 0, 2, 2, 'a', 'b', 1, 2, 81, 0, 3})
	f.Fuzz(func(t *testing.T, in []byte) {
		header, seed := testHeader.Bytes(), testHeader.Seed()
		image := header[:]
		for len(in) >= 5 {
			h := frameHeader{
				kind: kind(in[0]), commit: uint64(in[1]), synced: uint64(in[2]),
				length: uint32(in[3]) * uint32(in[4]>>2+1),
			}
			at, right := int64(len(image)), in[4]
			in = in[5:]
			payload := in[:min(len(in), int(h.length))]
			in = in[len(payload):]
			if right&1 != 0 {
				h.payloadSum = checksum.Of(payload)
			}
			image = append(append(image, make([]byte, HeaderBytes)...), payload...)
			h.put(image[at:], seed, at)
			if right&2 == 0 {
				image[at]++
			}
		}
		checkAny(t, append(image, in...))
	})
}

// FuzzReplay_raw replays any bytes after a valid header.
func FuzzReplay_raw(f *testing.F) {
	f.Add([]byte{})
	f.Add(logImage(f, Durable, someCommits(4)...)[fileheader.Size:])
	f.Add(make([]byte, 3*HeaderBytes))
	image := logImage(f, Durable, someCommits(4)...)
	for at := fileheader.Size; at < len(image); at += 37 {
		f.Add(image[fileheader.Size:at]) // torn
		image[at] ^= 1
		f.Add(bytes.Clone(image[fileheader.Size:])) // flipped
		image[at] ^= 1
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		header := testHeader.Bytes()
		checkAny(t, append(header[:], in...))
	})
}

// checkAny replays a log of any content.
func checkAny(t *testing.T, image []byte) {
	t.Helper()
	got, err := replayImage(t, image, 0)
	if err != nil && !isDamage(err) {
		t.Fatal(err)
	}
	checkWalk(t, image, got, err)
	rest := image
	for i, c := range got {
		if c.number != uint64(i+1) {
			t.Fatalf("commit %d is replayed in the place of %d", c.number, i+1)
		}
		for _, p := range c.payloads {
			sum := binary.LittleEndian.AppendUint32(nil, checksum.Of(p))
			_, after, found := bytes.Cut(rest, append(sum, p...))
			if !found {
				t.Fatalf("payload %q of commit %d is not in the file", p, c.number)
			}
			rest = after
		}
	}
	again, err := replayImage(t, logImage(t, Durable, got...), 0)
	if err != nil || len(again) != len(got) || !isPrefix(again, got) {
		t.Fatalf("written again, %d commits replay as %d: %v", len(got), len(again), err)
	}
}
