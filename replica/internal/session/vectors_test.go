package session

import (
	"bytes"
	"crypto/ed25519"
	"encoding/binary"
	"encoding/hex"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/replica/internal/chunk"
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/golden"
	"github.com/stoatdb/stoat/replica/internal/seal"
	"github.com/stoatdb/stoat/replica/internal/wire"
)

// The test vectors of the protocol, see docs/replica-format.md. All bytes are in hexadecimal.
type vectors struct {
	Space    string
	Binding  string
	Sides    [2]side // the first one sends all frames
	Token    token
	Position string // of the token
	Hash     string // of an entry
	Check    string // of the hash
	Ends     []logEnd
	Print    string // the fingerprint of the ends
	Signed   string // what the signature in auth signs
	Frames   []frame
}

// side is one of two sides of a session.
type side struct{ Seed, Device, Nonce string }

// token is a token.
type token struct {
	Batch  uint64
	Digest string
}

// logEnd is the end of a log.
type logEnd struct {
	Log    string // the first bytes of its id
	Number uint64 // of entries
	Hash   string // of the last one
}

// frame is a frame with its type and length.
type frame struct {
	Type  kind
	What  string
	Frame string
}

// vectorSession returns the session of the vectors, as the first side has it, and the keys.
func vectorSession() (s *Session, own, theirs ed25519.PrivateKey) {
	own = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, 32))
	theirs = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{2}, 32))
	s = &Session{own: hello{nonce: [32]byte{0xA1}}, theirs: hello{nonce: [32]byte{0xB2}}}
	return s, own, theirs
}

// vectorFrames collects frames.
type vectorFrames struct{ all []frame }

func (f *vectorFrames) add(k kind, what string, payload []byte) []byte {
	p := appendFrame(nil, k, payload)
	f.all = append(f.all, frame{k, what, hex.EncodeToString(p)})
	return p
}

func makeVectors(t *testing.T) *vectors {
	t.Helper()
	s, own, theirs := vectorSession()
	entries := readEntries(t)
	space := entry.Hash(entries.bytes(t, entries.Space))
	binding := bytes.Repeat([]byte{0xC3}, 32)
	at := Token{Batch: 300, Digest: [16]byte{9}}
	a := &auth{hidden: hide(space, &s.own, &s.theirs), key: [32]byte(own[32:]),
		database: [16]byte{7}, clock: 1_795_000_000_000, flags: flagOnly | flagWhole,
		position: hidePosition(space, at, &s.own, &s.theirs)}
	message := a.message(space, [32]byte(theirs[32:]), &s.own, &s.theirs, binding)
	a.signature = [64]byte(ed25519.Sign(own, message))

	last := entries.Entries[1]
	hash, prev := entry.Hash(entries.bytes(t, last.Hash)), entry.Hash(entries.bytes(t, last.Log))
	check, firstCheck := s.checkOf(hash), s.checkOf(prev)
	head := Head{Log: [prefixSize]byte(prev[:]), Next: 2, Hash: hash, Check: check}
	ends := []End{{Time: 10, Head: head}, {Time: 20, Head: Head{Log: [12]byte{8}, Next: 300,
		Hash: entry.Hash{6}}}}
	print := s.fingerprintOf(ends, nil)

	v := &vectors{Space: entries.Space, Binding: hex.EncodeToString(binding),
		Token:    token{at.Batch, hex.EncodeToString(at.Digest[:])},
		Position: hex.EncodeToString(a.position[:]), Signed: hex.EncodeToString(message),
		Hash: last.Hash, Check: hex.EncodeToString(check[:]), Print: hex.EncodeToString(print[:])}
	for i, key := range []ed25519.PrivateKey{own, theirs} {
		v.Sides[i] = side{hex.EncodeToString(key.Seed()), hex.EncodeToString(key[32:]),
			hex.EncodeToString([][32]byte{s.own.nonce, s.theirs.nonce}[i][:])}
	}
	for _, e := range ends {
		v.Ends = append(v.Ends, logEnd{hex.EncodeToString(e.Log[:]), e.Next,
			hex.EncodeToString(e.Hash[:])})
	}
	f := &vectorFrames{}
	f.add(frameHello, "", s.own.append(nil))
	f.add(frameAuth, "for one device, with nothing held back", a.append(nil))
	f.add(frameDescription, "", entries.bytes(t, entries.SpaceBytes))
	f.add(frameToken, "everything", (&reach{all: true}).append(nil))
	f.add(frameToken, "few logs, and no token", (&reach{few: true}).append(nil))
	f.add(frameToken, "many logs", (&reach{time: 20, token: at}).append(nil))
	f.add(frameHolds, "", appendHolds(nil, []string{"lists", "tasks"}))
	f.add(frameHeads, "the last page", (&headsPage{last: true, heads: []Head{head}}).append(nil))
	f.addSpans(ends, print)
	f.add(frameWant, "an answer: the first and the third log of a page", (&wants{answer: true,
		choices: []choice{{0, 0}, {2, 300}}}).append(nil))
	f.add(frameWant, "", (&wants{wants: []want{{log: head.Log, from: 1, to: 2}}}).append(nil))
	f.add(frameWant, "content", (&wants{content: true,
		wants: []want{{head.Log, 1, 2, true}}}).append(nil))
	f.add(frameCredit, "", binary.AppendUvarint(nil, 1<<20))
	f.addRuns(t, entries, firstCheck)
	f.add(frameMark, "nothing is held back", (&mark{final: true, token: at}).append(nil))
	packed := f.add(frameMark, "the same token", (&mark{again: true}).append(nil))
	f.add(frameAck, "complete", (&ack{final: true, complete: true, batch: 300}).append(nil))
	f.add(frameRefused, "", (&refused{log: prev, seq: 1, reason: "its seal"}).append(nil))
	f.add(frameDenied, "", []byte("no grant"))
	f.add(framePacked, "the mark with the same token", rawZstd(packed))
	f.addStart(t)
	f.add(frameBye, "for no reason", (&bye{}).append(nil))
	f.add(frameBye, "for a reason", (&bye{failed: true, reason: "no room"}).append(nil))
	v.Frames = f.all
	return v
}

// addSpans adds a round of ranges, and its answers.
func (f *vectorFrames) addSpans(ends []End, print fingerprint) {
	f.add(frameRanges, "a whole round: one range of the ends, and one behind", (&spans{last: true,
		all: []span{{bound{time: 30}, uint64(len(ends)), print},
			{bound{40, "\x08\x00"}, 1, fingerprint{5}}}}).append(nil))
	f.add(frameOpen, "the second and the fifth", (&open{ranges: []int{1, 4}}).append(nil))
	f.add(frameOpen, "more", (&open{how: openMore}).append(nil))
	f.add(frameOpen, "all", (&open{how: openAll}).append(nil))
}

// addRuns adds runs of the log a of vectors.json, and the proof of fork.json.
func (f *vectorFrames) addRuns(t *testing.T, entries *entryVectors, check [8]byte) {
	t.Helper()
	first, second := entries.Entries[0], entries.Entries[1]
	r := &Run{Log: entry.Hash(entries.bytes(t, first.Log)),
		Entries: [][]byte{entries.bytes(t, first.Stored), entries.bytes(t, second.Stored)},
		Seal:    [64]byte(entries.bytes(t, second.Seal))}
	f.add(frameRun, "from the first entry", r.append(nil))
	r.First, r.Entries, r.Prev = 1, r.Entries[1:], r.Log
	p := r.append(nil)
	f.add(framePart, "the beginning of the next frame's run", p[:100])
	f.add(frameRun, "the rest of it", p[100:])
	f.add(frameRun, "brief", r.appendBrief(nil, check))
	var fork struct{ Proof string }
	golden.Read(t, "fork.json", &fork)
	f.add(frameProof, "", entries.bytes(t, fork.Proof))
}

// addStart adds the frames with which a replica starts from a checkpoint.
func (f *vectorFrames) addStart(t *testing.T) {
	t.Helper()
	var proof struct{ Run string }
	golden.Read(t, "evidence.json", &proof)
	run, err := hex.DecodeString(proof.Run)
	if err != nil {
		t.Fatal(err)
	}
	content := wire.AppendBytes(wire.AppendBytes(nil, "key"), "state")
	o := &Offer{Checkpoint: entry.Hash{3}, Evidence: [][]byte{run},
		Trees: []chunk.Tree{{chunk.Leaf(content)}, nil}}
	form := plainForm(content)
	offered := Cut(o.Checkpoint, o.Append(nil))
	f.add(frameFetch, "an offer", (&fetch{}).append(nil))
	f.add(frameCheckpoint, "there is none", nil)
	f.add(frameCheckpoint, "an offer of the first of two subtrees", offered.append(nil))
	f.add(frameFetch, "the slice of the offer",
		(&fetch{o.Checkpoint, 0, []ChunkRange{{ChunkID{ofOffer, 0}, 1}}}).append(nil))
	f.add(frameChunk, "the slice",
		(&piece{ChunkID{ofOffer, 0}, 0, true, offered.slice(0)}).append(nil))
	f.add(frameChunk, "nothing more", nil)
	f.add(frameFetch, "the chunk of the first subtree, from its fifth byte on, and two of the second",
		(&fetch{o.Checkpoint, 4, []ChunkRange{{ChunkID{0, 0}, 1}, {ChunkID{1, 0}, 2}}}).append(nil))
	f.add(frameChunk, "bytes of the form of the chunk",
		(&piece{ChunkID{0, 0}, 4, false, form[4:6]}).append(nil))
	f.add(frameChunk, "the rest of it", (&piece{ChunkID{0, 0}, 6, true, form[6:]}).append(nil))
}

// rawZstd returns less than 256 bytes as zstd has them in one raw block. So the vector does not
// depend on how well a library compresses.
func rawZstd(p []byte) []byte {
	header := []byte{0x28, 0xB5, 0x2F, 0xFD, 0x20, byte(len(p))} // one segment, its size in a byte
	block := uint32(len(p))<<3 | 1                               // raw, and the last one
	return append(append(header, byte(block), byte(block>>8), byte(block>>16)), p...)
}

// entryVectors is what is used of vectors.json.
type entryVectors struct {
	Space, SpaceBytes string
	Entries           []struct{ Log, Stored, Hash, Seal string }
}

func readEntries(t *testing.T) *entryVectors {
	t.Helper()
	v := &entryVectors{}
	golden.Read(t, "vectors.json", v)
	return v
}

func (*entryVectors) bytes(t *testing.T, text string) []byte {
	t.Helper()
	p, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestVectors_areWhatThePackageMakes(t *testing.T) {
	golden.Compare(t, "session.json", makeVectors(t))
}

func TestVectors_decodeToWhatEncodesTheSame(t *testing.T) {
	v := &vectors{}
	golden.Read(t, "session.json", v)
	var part []byte
	for _, f := range v.Frames {
		p, err := hex.DecodeString(f.Frame)
		if err != nil {
			t.Fatal(err)
		}
		k, payload, rest, err := cutFrame(p)
		if err != nil || k != f.Type || len(rest) > 0 {
			t.Errorf("%d %s: a frame of type %d, %v", f.Type, f.What, k, err)
		}
		if payload = append(part, payload...); k == framePart {
			part = payload
			continue
		}
		part = nil
		if again := encodings(k, payload); again != nil && !bytes.Equal(again, payload) {
			t.Errorf("%d %s: it encodes to %x", k, f.What, again)
		} else if again == nil && encodings(k, samples()[k]) != nil && len(payload) > 0 {
			t.Errorf("%d %s: it does not decode", k, f.What)
		}
		if z, _ := decoder(); k == framePacked {
			inner, err := z.DecodeAll(payload, make([]byte, 0, unpackedMax))
			if err != nil || kind(inner[0]) != frameMark {
				t.Errorf("the packed frame: %x, %v", inner, err)
			}
		}
		if k == frameAuth {
			checkAuthVector(t, v, payload)
		}
	}
}

// checkAuthVector checks the signature of an auth.
func checkAuthVector(t *testing.T, v *vectors, payload []byte) {
	t.Helper()
	a, err := parseAuth(payload)
	if err != nil {
		t.Fatal(err)
	}
	message, err := hex.DecodeString(v.Signed)
	if err != nil || !seal.Verify(&a.key, message, &a.signature) {
		t.Errorf("the signature of an auth is not valid (%v)", err)
	}
}

// Each type of frame that the document has is in the vectors, and they have no others.
func TestVectors_haveEveryFrameOfTheDocument(t *testing.T) {
	p, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "replica-format.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(p), "| type | frame | payload |")
	if !found {
		t.Fatal("the document has no table of frames")
	}
	table, _, _ = strings.Cut(table, "\n\n")
	documented := map[kind]bool{}
	rows := regexp.MustCompile(`(?m)^\| (\d+) \| [a-z]+ \|`)
	for _, row := range rows.FindAllStringSubmatch(table, -1) {
		n, err := strconv.ParseUint(row[1], 10, 8)
		if err != nil {
			t.Fatal(err)
		}
		documented[kind(n)] = true
	}
	v := &vectors{}
	golden.Read(t, "session.json", v)
	has := map[kind]bool{}
	for _, f := range v.Frames {
		has[f.Type] = true
	}
	if !maps.Equal(has, documented) {
		t.Errorf("there are vectors of frames %v, and the document has %v", has, documented)
	}
}
