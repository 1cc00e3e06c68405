package session

import (
	"bufio"
	"bytes"
	"testing"

	"github.com/stoatdb/stoat/replica/internal/chunk"
	"github.com/stoatdb/stoat/replica/internal/entry"
)

// samples returns a message of each kind, by the type of its frame.
func samples() map[kind][]byte {
	token := Token{Batch: 300, Digest: [16]byte{1}}
	page := headsPage{last: true, heads: []Head{{Next: 3, Check: [8]byte{2}}, {Next: 1 << 40}}}
	asked := wants{answer: true, choices: []choice{{0, 1}, {7, 1 << 30}}}
	run := Run{Log: entry.Hash{1}, First: 2, Prev: entry.Hash{2}, Entries: [][]byte{{1}, {2, 3}}}
	mark, ack := mark{true, false, token}, ack{final: true, batch: 300}
	known := reach{token: token}
	ranges := spans{all: []span{{end: bound{7, "ab"}, count: 3},
		{end: bound{time: 1 << 60}, count: 1}}}
	opened := open{ranges: []int{0, 3, 99}}
	notice := Notice{entry.Hash{3}, []chunk.Hash{{4}, {5}}}
	fetched := fetch{entry.Hash{3}, 7,
		[]ChunkRange{{ChunkID{ofOffer, 1}, 1}, {ChunkID{1, 0}, 1 << 20}}}
	given := piece{ChunkID{1, 300}, 1 << 20, true, []byte("content")}
	return map[kind][]byte{
		frameCheckpoint: notice.append(nil),
		frameFetch:      fetched.append(nil),
		frameChunk:      given.append(nil),

		frameHello:   (&hello{nonce: [32]byte{1}}).append(nil),
		frameAuth:    (&auth{clock: 7, flags: flagAsks}).append(nil),
		frameToken:   known.append(nil),
		frameHeads:   page.append(nil),
		frameWant:    asked.append(nil),
		frameRanges:  ranges.append(nil),
		frameOpen:    opened.append(nil),
		frameCredit:  {0x80, 0x01},
		frameRun:     run.append(nil),
		frameMark:    mark.append(nil),
		frameAck:     ack.append(nil),
		frameRefused: (&refused{seq: 4, forked: true, reason: "a"}).append(nil),
		frameBye:     (&bye{failed: true, reason: "b"}).append(nil),
	}
}

// encodings decodes a message and returns what it is sent as; nil if it is not one.
func encodings(k kind, p []byte) []byte {
	switch k {
	case frameCheckpoint:
		if m, err := parseNotice(p); err == nil {
			return m.append(nil)
		}
	case frameFetch:
		if m, err := parseFetch(p); err == nil {
			return m.append(nil)
		}
	case frameChunk:
		if m, err := parsePiece(p); err == nil {
			return m.append(nil)
		}
	case frameHello:
		if m, err := parseHello(p); err == nil {
			return m.append(nil)
		}
	case frameAuth:
		if m, err := parseAuth(p); err == nil {
			return m.append(nil)
		}
	case frameToken:
		if m, err := parseReach(p); err == nil {
			return m.append(nil)
		}
	case frameHeads:
		if m, err := parseHeads(p); err == nil {
			return m.append(nil)
		}
	case frameRanges:
		if m, err := parseSpans(p); err == nil {
			return m.append(nil)
		}
	case frameOpen:
		if m, err := parseOpen(p); err == nil {
			return m.append(nil)
		}
	case frameWant:
		if m, err := parseWants(p); err == nil {
			return m.append(nil)
		}
	case frameRun:
		m, of, err := parseRun(p)
		if err == nil && of != nil {
			copy(m.Log[:], of.log[:])
			return m.appendBrief(nil, of.check)
		} else if err == nil {
			return m.append(nil)
		}
	case frameMark:
		if m, err := parseMark(p); err == nil {
			return m.append(nil)
		}
	case frameAck:
		if m, err := parseAck(p); err == nil {
			return m.append(nil)
		}
	case frameRefused:
		if m, err := parseRefused(p); err == nil {
			return m.append(nil)
		}
	case frameBye:
		if m, err := parseBye(p); err == nil {
			return m.append(nil)
		}
	}
	return nil
}

func TestMessages_areWhatTheyWere(t *testing.T) {
	for k, p := range samples() {
		if k != frameCredit && !bytes.Equal(encodings(k, p), p) {
			t.Errorf("type %d: %x is sent as %x", k, p, encodings(k, p))
		}
	}
}

// What a decoder accepts is sent as the same bytes.
func FuzzMessages(f *testing.F) {
	for k, p := range samples() {
		f.Add(byte(k), p)
	}
	f.Fuzz(func(t *testing.T, k byte, p []byte) {
		if got := encodings(kind(k), p); got != nil && !bytes.Equal(got, p) {
			t.Errorf("type %d: %x is sent as %x", k, p, got)
		}
		_, _ = parseCredit(p)
		if k, payload, rest, err := cutFrame(p); err == nil {
			if !bytes.Equal(append(appendFrame(nil, k, payload), rest...), p) {
				t.Errorf("frame %d of %x", k, p)
			}
		}
		_, _, _ = readFrame(bufio.NewReader(bytes.NewReader(p)), func() {})
	})
}

// What a decoder of offers, and of chunks in files, accepts is encoded to the same bytes.
func FuzzOffers(f *testing.F) {
	o := Offer{Checkpoint: entry.Hash{3}, Evidence: [][]byte{make([]byte, 70), {2, 3}},
		Trees: []chunk.Tree{{{4}, {5}}, nil, {{6}}}}
	f.Add(o.Append(nil))
	f.Add((&Given{ChunkID{1, 300}, []byte("form")}).Append(nil))
	f.Fuzz(func(t *testing.T, p []byte) {
		if m, err := ParseOffer(p); err == nil && !bytes.Equal(m.Append(nil), p) {
			t.Errorf("%x is encoded as %x", p, m.Append(nil))
		}
		if m, err := ParseGiven(p); err == nil && !bytes.Equal(m.Append(nil), p) {
			t.Errorf("%x is encoded as %x", p, m.Append(nil))
		}
	})
}

// Whatever a member of the space sends behind its handshake, the session ends, and the replica can
// be written to and synchronised.
func FuzzSession(f *testing.F) {
	all := []byte{}
	for k, p := range samples() {
		f.Add(appendFrame(nil, k, p))
		if k != frameBye {
			all = appendFrame(all, k, p)
		}
	}
	f.Add(all)
	honest := newMemory(1, 5)
	_ = honest.Seal()
	run, _ := honest.Run(honest.own, 0, nil)
	f.Add(appendFrame(nil, frameRun, run.append(nil)))
	f.Fuzz(func(t *testing.T, p []byte) {
		victim := newMemory(1, 1)
		_ = attack(t, config(victim), greeted(func(a *attacker) {
			a.raw(p)
			_ = a.conn.Close()
		}))
		victim.write("more")
		other := newMemory(1, 2)
		meet(t, victim, other)
		equal(t, victim, other)
	})
}
