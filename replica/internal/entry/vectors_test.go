package entry

import (
	"bytes"
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stoatdb/stoat/replica/internal/chunk"
	"github.com/stoatdb/stoat/replica/internal/golden"
	"github.com/stoatdb/stoat/replica/internal/hlc"
	"github.com/stoatdb/stoat/replica/internal/seal"
	"github.com/stoatdb/stoat/replica/internal/value"
	"github.com/stoatdb/stoat/replica/internal/wire"
	"github.com/stoatdb/stoat/tuple"
)

// The test vectors of docs/replica-format.md. They are what this package must produce and accept;
// -update writes them, which is right only together with a new version of the format.
// vectors is the content of the file, with all bytes in hexadecimal.
type vectors struct {
	Seed, Device string // the device's secret seed and its public key, which is the space's root
	SpaceBytes   string
	Space        string
	TrustedBytes string // the description of a trusted space, and its id
	Trusted      string
	Entries      []vector
	Refused      []refusal
}

// vector is an entry at its place.
type vector struct {
	Name   string
	Log    string
	Seq    uint64
	Stored string // the entry as it is stored and sent
	Header string
	Hash   string
	Sealed string // what its seal signs
	Seal   string
}

// refusal is bytes that must be refused.
type refusal struct{ What, Kind, Bytes string }

// chain makes entries of one log, one after the other.
type chain struct {
	space, id Hash
	key       ed25519.PrivateKey
	seq       uint64
	prev      Hash
	all       []vector
}

// add appends an entry and returns its head.
func (c *chain) add(name string, e *Entry) Head {
	at := &Place{Space: c.space, Log: c.id, Seq: c.seq, Prev: c.prev}
	hash := e.Hash(at)
	if c.seq == 0 {
		c.id = hash
	}
	sealed := AppendSealed(nil, &c.space, &c.id, c.seq, &hash)
	c.all = append(c.all, vector{name, hex.EncodeToString(c.id[:]), c.seq,
		hex.EncodeToString(e.Append(nil)), hex.EncodeToString(e.AppendHeader(nil, at)),
		hex.EncodeToString(hash[:]), hex.EncodeToString(sealed),
		hex.EncodeToString(ed25519.Sign(c.key, sealed))})
	c.seq, c.prev = c.seq+1, hash
	return Head{c.id, c.seq - 1}
}

// sampleChanges has every kind of operation.
func sampleChanges() *Changes {
	return &Changes{
		Fields: []string{"age", "best", "count", "labels", "name", "note", "tags", "worst"},
		Records: []Record{
			{Key: tuple.AppendInt(nil, 7), Ops: []Op{
				{Field: 0, Kind: OpSet, Value: tuple.AppendInt(nil, -36)},
				{Field: 1, Kind: OpMax, Value: tuple.AppendFloat(nil, 1.5)},
				{Field: 2, Kind: OpSum, Delta: -3},
				{Field: 3, Kind: OpEntries,
					Removed: []Item{{Key: tuple.AppendString(nil, "a")}},
					Added: []Item{{tuple.AppendString(nil, "b"),
						append([]byte{0x40, 2}, tuple.AppendInt(tuple.AppendBool(nil, true), 300)...)}}},
				{Field: 4, Kind: OpSet, Value: tuple.AppendString(nil, "Ada\x00\x01")},
				{Field: 5, Kind: OpKeep, Value: tuple.AppendNil(nil)},
				{Field: 6, Kind: OpElements, Added: []Item{
					{Key: tuple.AppendString(nil, "x")}, {Key: tuple.AppendString(nil, "y")}}},
				{Field: 7, Kind: OpMin, Value: tuple.AppendTime(nil, time.Unix(1, 2))},
			}},
			{Key: tuple.AppendInt(nil, 8), Delete: true},
			{Key: tuple.AppendInt(nil, 9)},
		},
	}
}

// keyed returns changes that make a record with a key.
func keyed(key string) *Changes {
	return &Changes{Records: []Record{{Key: tuple.AppendString(nil, key)}}}
}

// namedAct is an act of the test vectors.
type namedAct struct {
	name string
	act  Act
}

// sampleActs has every type of act.
func sampleActs() []namedAct {
	grant := Head{Hash{7}, 300}
	return []namedAct{
		{"a grant of everything to anyone",
			Act{Grant: &Grant{To: Principal{Anyone: true}, Right: RightWrite}}},
		{"a grant under another one", Act{Grant: &Grant{Under: &grant,
			To: Principal{Device: [32]byte{8}}, Right: RightAdmin | RightInvite | RightCheckpoint,
			Scope: []Area{{NoDelete: true}, {Collection: "tasks", Prefix: []byte{0x14},
				OwnOnly: true, Fields: []string{"done", "title"}}}}}},
		{"a revocation", Act{Revoke: &Revoke{Grant: grant,
			Last: []Last{{Head{Hash{5}, 9}, Hash{6}}, {Head{Hash{7}, 301}, Hash{9}}}}}},
		{"a revocation under a grant", Act{Revoke: &Revoke{Under: &grant, Grant: Head{Hash{8}, 1}}}},
		{"an endorsement", Act{Endorse: &Endorse{grant, Hash{9}}}},
		{"a checkpoint", Act{Checkpoint: &Checkpoint{Before: Hash{3},
			Logs: []CoveredLog{{Hash{5}, 300, Hash{6}}, {Hash{7}, 1, Hash{7}}},
			Chunks: []chunk.Subtree{{Collection: "", Leaves: 1, Root: Hash{8}},
				{Collection: "tasks", Leaves: 300, Root: Hash{9}}}}}},
		{"a checkpoint with salts", Act{Checkpoint: &Checkpoint{Salts: 1,
			Logs: []CoveredLog{{Hash{5}, 300, Hash{6}}},
			Chunks: []chunk.Subtree{{Collection: "", Leaves: 1, Root: Hash{8}},
				{Collection: "tasks", Leaves: 2, Root: Hash{9}}}}}},
	}
}

func makeVectors(t *testing.T) *vectors {
	t.Helper()
	seed := make([]byte, ed25519.SeedSize)
	for i := range seed {
		seed[i] = byte(i)
	}
	key := ed25519.NewKeyFromSeed(seed)
	device := [32]byte(key[32:])
	space := &Space{Salt: [16]byte{0xAA}, EntryMax: 1 << 20, Quorum: 1, Roots: [][32]byte{device}}
	id := space.ID()
	v := &vectors{Seed: hex.EncodeToString(seed), Device: hex.EncodeToString(device[:]),
		SpaceBytes: hex.EncodeToString(space.Append(nil)), Space: hex.EncodeToString(id[:])}
	trusted := &Space{Trusted: true, Salt: space.Salt, EntryMax: 1 << 20}
	trustedID := trusted.ID()
	v.TrustedBytes = hex.EncodeToString(trusted.Append(nil))
	v.Trusted = hex.EncodeToString(trustedID[:])

	at := hlc.At(time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC))
	a, b := &chain{space: id, key: key}, &chain{space: id, key: key}
	a.add("genesis of log a", (&Genesis{device, [16]byte{1}, 1<<62 + 300}).Entry(at))
	data := a.add("changes of every kind", &Entry{Time: at + 1, Kind: KindData,
		Parts: []Part{{Group: "tasks", Data: sampleChanges().Append(nil)}}})
	b.add("genesis of log b", (&Genesis{device, [16]byte{2}, 0}).Entry(at+1<<16))
	digest := ContextDigest([]Hash{Hash(unhex(t, a.all[1].Hash))})
	b.add("an entry of context alone", &Entry{Time: at + 2<<16, Kind: KindContext,
		Context: []Head{data}, Digest: digest})
	b.add("two collections", &Entry{Time: at + 3<<16, Kind: KindData, Parts: []Part{
		{Group: "lists", Data: keyed("k").Append(nil)},
		{Group: "tasks", Data: (&Changes{Records: []Record{
			{Key: tuple.AppendInt(nil, 7), Delete: true}}}).Append(nil)},
	}})
	origin := &Last{data, Hash(unhex(t, a.all[1].Hash))}
	repeated := &Entry{Time: at + 4<<16, Kind: KindData, Origin: origin,
		Parts: []Part{{Group: "tasks", Data: sampleChanges().Append(nil)}}}
	b.add("the changes of another entry, again", repeated)
	secret := keyed("what not everybody may read")
	secret.Salt = seed[:SaltSize]
	withheld := &Entry{Time: at + 5<<16, Kind: KindData, Parts: []Part{
		{Group: "lists", Data: keyed("k").Append(nil)},
		{Group: "secret", Data: secret.Append(nil)},
	}}
	b.add("a part with a salt", withheld)
	withheld.Parts[1].Withhold()
	b.add("a part that is withheld", withheld)
	for _, act := range sampleActs() {
		e := act.act.Entry()
		e.Time = at + hlc.Time(3+b.seq)<<16
		b.add(act.name, e)
	}
	v.Entries = append(a.all, b.all...)
	v.Refused = refusals()
	return v
}

// refused is bytes that the decoder of a kind must refuse.
type refused struct {
	what, kind string
	p          []byte
}

// refusals returns bytes that decoders of entries, changes, acts, spaces and values must refuse.
func refusals() (all []refusal) {
	for _, r := range slices.Concat(refusedEntries(), refusedChanges(), refusedActs()) {
		all = append(all, refusal{r.what, r.kind, hex.EncodeToString(r.p)})
	}
	return all
}

func refusedEntries() []refused {
	good := (&Entry{Time: 1, Kind: KindContext}).Append(nil)
	edit := func(at int, b ...byte) []byte {
		return append(append(bytes.Clone(good[:at]), b...), good[at+1:]...)
	}
	return []refused{
		{"a version above 1", "entry", edit(0, 2)},
		{"an unknown kind", "entry", edit(9, 4)},
		{"an unknown flag", "entry", edit(10, 4)},
		{"an entry of context alone with an origin", "entry", edit(10, append([]byte{2},
			make([]byte, 32+1+32)...)...)},
		{"a kind that is longer than it must be", "entry", edit(9, 0x82, 0)},
		{"an empty context", "entry", edit(10, 1, 0)},
		{"bytes after the end", "entry", append(bytes.Clone(good), 0)},
		{"a part of an unknown form", "entry", edit(11, 1, 0, 2, 0)},
		{"a withheld part above the limit", "entry", edit(11, append([]byte{1, 0, 1, 0x81, 0x80, 0x80, 8},
			make([]byte, 32)...)...)},
		{"more parts than bytes", "entry", edit(11, 40)},
		{"parts that are not sorted", "entry", edit(11, 2, 1, 'b', 0, 0, 1, 'a', 0, 0)},
	}
}

// refusedChanges returns changes and values.
func refusedChanges() []refused {
	return []refused{
		{"no records", "changes", []byte{0, 0}},
		{"fields that are not sorted", "changes", []byte{2, 1, 'b', 1, 'a', 1, 1, 0x14, 0, 0}},
		{"the field of a schema", "changes", []byte{1, 1, 0, 1, 1, 0x14, 0, 0}},
		{"an operation of an unknown kind", "changes", []byte{1, 1, 'a', 1, 1, 0x14, 0, 1, 0, 8, 0, 0}},
		{"an operation on a field that is not listed", "changes",
			[]byte{1, 1, 'a', 1, 1, 0x14, 0, 1, 1, 1, 2}},
		{"a set that neither gains nor loses", "changes",
			[]byte{1, 1, 'a', 1, 1, 0x14, 0, 1, 0, 6, 0, 0}},
		{"an unknown kind of change", "changes", []byte{0, 1, 1, 0x14, 2}},
		{"a salt that is too short", "changes", append([]byte{0, 1, 1, 0x14, 1}, make([]byte, 15)...)},
		{"a salt that is too long", "changes", append([]byte{0, 1, 1, 0x14, 1}, make([]byte, 17)...)},
		{"the same record twice", "changes", []byte{0, 2, 1, 0x14, 1, 1, 0x14, 1}},
		{"a key that is not a tuple", "changes", []byte{0, 1, 1, 0xFF, 1}},
		{"an integer that is longer than it must be", "value", []byte{0x16, 0, 1}},
		{"a negative integer below the least", "value",
			[]byte{0x0C, 0x7F, 255, 255, 255, 255, 255, 255, 254}},
		{"another NaN", "value", []byte{0x20, 0xFF, 0xF8, 0, 0, 0, 0, 0, 2}},
		{"an unknown escape", "value", []byte{0x28, 'a', 1, 3, 0}},
		{"a time with too many nanoseconds", "value",
			[]byte{0x30, 0x80, 0, 0, 0, 0, 0, 0, 0, 0x3B, 0x9A, 0xCA, 0}},
		{"a descending element", "value", []byte{0xFB}},
		{"a list with more elements than bytes", "value", []byte{0x40, 100, 2}},
		{"a map whose keys are not sorted", "value", []byte{0x41, 2, 5, 2, 4, 2}},
		{"a map whose key is a list", "value", []byte{0x41, 1, 0x40, 0, 2}},
		{"lists nested 34 deep", "value", append(bytes.Repeat([]byte{0x40, 1}, 33), 0x40, 0)},
	}
}

// refusedActs returns acts and spaces.
func refusedActs() []refused {
	return []refused{
		{"an act of an unknown type", "act", []byte{9}},
		{"a grant to an unknown principal", "act", []byte{1, 0, 3, 3, 0}},
		{"a grant of nothing", "act", []byte{1, 0, 2, 0, 0}},
		{"a grant of an unknown level", "act", []byte{1, 0, 2, 5, 0}},
		{"a grant with an unknown flag", "act", []byte{1, 0, 2, 0x43, 0}},
		{"an area with an unknown flag", "act", []byte{1, 0, 2, 3, 1, 0, 0, 4, 0}},
		{"areas that are not sorted", "act",
			[]byte{1, 0, 2, 3, 2, 1, 'b', 0, 0, 0, 1, 'a', 0, 0, 0}},
		{"fields of an area that are not sorted", "act",
			[]byte{1, 0, 2, 3, 1, 0, 0, 0, 2, 1, 'b', 1, 'a'}},
		{"a revocation with more logs than bytes", "act",
			append(append([]byte{2, 0}, make([]byte, 33)...), 100)},
		{"a checkpoint that covers more entries than a log has", "act",
			(&Act{Checkpoint: &Checkpoint{Logs: []CoveredLog{{Hash{5}, SeqMax + 1, Hash{6}}}}}).Append(nil)},
		{"a space of version 2", "space", append([]byte{2, 0}, make([]byte, 16)...)},
		{"a space of an unknown mode", "space", append([]byte{1, 2}, make([]byte, 16)...)},
		{"a trusted space with a root", "space", append(append(append([]byte{1, 1},
			make([]byte, 16)...), 0x80, 0x80, 0x40, 1, 1), make([]byte, 32)...)},
		{"a trusted space with a quorum", "space", append(append([]byte{1, 1},
			make([]byte, 16)...), 0x80, 0x80, 0x40, 1, 0)},
		{"a space without roots", "space", append(append([]byte{1, 0}, make([]byte, 16)...), 1, 1, 0)},
	}
}

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	p, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestVectors_areWhatThePackageMakes(t *testing.T) {
	golden.Compare(t, "vectors.json", makeVectors(t))
}

// readVectors returns the vectors of the file.
func readVectors(t testing.TB) *vectors {
	t.Helper()
	v := &vectors{}
	golden.Read(t, "vectors.json", v)
	return v
}

func TestVectors_decodeToWhatEncodesTheSame(t *testing.T) {
	v := readVectors(t)
	device := [32]byte(unhex(t, v.Device))
	space := Hash(unhex(t, v.Space))
	prev := map[string]Hash{}
	for _, e := range v.Entries {
		stored := unhex(t, e.Stored)
		got, err := Parse(stored)
		if err != nil {
			t.Fatalf("%s: %v", e.Name, err)
		}
		if !bytes.Equal(got.Append(nil), stored) {
			t.Errorf("%s: it encodes otherwise", e.Name)
		}
		at := &Place{Space: space, Seq: e.Seq, Prev: prev[e.Log]}
		if e.Seq > 0 {
			at.Log = Hash(unhex(t, e.Log))
		}
		hash := got.Hash(at)
		if hex.EncodeToString(hash[:]) != e.Hash {
			t.Errorf("%s: its hash is %x", e.Name, hash)
		}
		prev[e.Log] = hash
		if !seal.Verify(&device, unhex(t, e.Sealed), (*[64]byte)(unhex(t, e.Seal))) {
			t.Errorf("%s: its seal is not valid", e.Name)
		}
		for _, part := range got.Parts {
			if got.Kind != KindData || part.Withheld != nil {
				continue
			}
			c, err := ParseChanges(part.Data)
			if err != nil || !bytes.Equal(c.Append(nil), part.Data) {
				t.Errorf("%s, %s: %v", e.Name, part.Group, err)
			}
		}
		if got.Kind == KindControl {
			act, err := ParseAct(got)
			if err != nil || !bytes.Equal(act.Append(nil), got.Parts[0].Data) {
				t.Errorf("%s: %v", e.Name, err)
			}
		}
		if got.Kind == KindGenesis {
			if g, err := ParseGenesis(got); err != nil || g.Device != device {
				t.Errorf("%s: %v", e.Name, err)
			}
		}
	}
	if s, err := ParseSpace(unhex(t, v.SpaceBytes)); err != nil || s.ID() != space || s.Trusted {
		t.Errorf("the space: %v", err)
	}
	s, err := ParseSpace(unhex(t, v.TrustedBytes))
	if err != nil || s.ID() != Hash(unhex(t, v.Trusted)) || !s.Trusted {
		t.Errorf("the trusted space: %v", err)
	}
}

func TestVectors_refuseWhatIsNotCanonical(t *testing.T) {
	for _, r := range readVectors(t).Refused {
		p := unhex(t, r.Bytes)
		var err error
		switch r.Kind {
		case "entry":
			_, err = Parse(p)
		case "changes":
			_, err = ParseChanges(p)
		case "space":
			_, err = ParseSpace(p)
		case "act":
			_, err = ParseAct(&Entry{Kind: KindControl, Parts: []Part{{Data: p}}})
		case "value":
			reader := wire.NewReader(p)
			value.Take(&reader)
			err = reader.End()
		}
		if !errors.Is(err, wire.ErrMalformed) && !errors.Is(err, ErrNewer) {
			t.Errorf("%s: %s: %v", r.Kind, r.What, err)
		}
	}
}
