package object

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/manifest"
)

// exampleOrigin returns the origin of the example.
func exampleOrigin() *Origin {
	return &Origin{
		First: ID(sequence(0x80, 16)), Number: 5, At: ID(sequence(0x90, 16)), Epoch: 2, Commit: 9,
		Name: "shop",
	}
}

// exampleClone returns the first object of a clone.
func exampleClone() *Log {
	return &Log{
		Header: exampleHeader(1, 3), Claim: &Claim{Writer: "clone", Branch: 500, Window: 1},
		Parts: []Part{
			{Origin: exampleOrigin()},
			{Edit: &manifest.Edit{
				LastCommit: 8, NextNumber: 1<<36 + 2,
				AddYoung: []manifest.Run{{Tables: []*manifest.Table{exampleTable(1<<36 + 1)}}},
			}},
			{Commits: &Commits{First: 9, Batches: [][]byte{[]byte("\x02\x02\x10b")}}},
		},
	}
}

// exampleOldClone returns the first object of a clone whose origin has no id of a log object.
func exampleOldClone() *Log {
	l := exampleClone()
	l.Parts[0].Origin.At = ID{}
	return l
}

func exampleDraft() *Draft {
	return &Draft{
		Database: [16]byte(sequence(0, 16)), Origin: ID(sequence(0x80, 16)), ID: ID(sequence(0x10, 16)),
	}
}

func TestOrigin_isDecodedAsItWas(t *testing.T) {
	c := newCodec(t)
	clone := exampleClone()
	clone.Parts[0].Origin.Nested = true
	alone := exampleParts()
	alone.Parts = append(alone.Parts, Part{Origin: new(Origin)})
	for _, l := range []*Log{exampleClone(), exampleOldClone(), clone, alone} {
		p, err := c.EncodeLog(l)
		check(t, err)
		got, err := c.DecodeLog("log/1", p)
		check(t, err)
		for i := range l.Parts {
			if !reflect.DeepEqual(got.Parts[i].Origin, l.Parts[i].Origin) {
				t.Errorf("part %d has the origin %+v", i, got.Parts[i].Origin)
			}
		}
	}
	s := exampleState()
	for _, l := range []*Log{clone, exampleOldClone()} {
		s.Origin = l.Parts[0].Origin
		p, err := c.EncodeState(s)
		check(t, err)
		got, err := c.DecodeState("state/5", p)
		if err != nil || !reflect.DeepEqual(got.Origin, s.Origin) {
			t.Errorf("got %+v: %v", got, err)
		}
	}
}

func TestOrigin_isRefusedIfNoWriterMakesIt(t *testing.T) {
	c := newCodec(t)
	for i, change := range []func(*Log){
		func(l *Log) { l.Epoch = 4 },
		func(l *Log) { l.Epoch = 1 },
		func(l *Log) { l.Parts = nil },
		func(l *Log) { l.Parts = l.Parts[1:] },
		func(l *Log) { l.Claim = nil },
		func(l *Log) { l.Number, l.Previous = 2, ID{1} },
		func(l *Log) { l.Parts[0].Origin = new(Origin) },
		func(l *Log) { l.Parts[0].Origin = nil },
		func(l *Log) { l.Parts = append(l.Parts, l.Parts[0]) },
		func(l *Log) { l.Parts[0].Origin.First = ID{} },
		func(l *Log) { l.Parts[0].Origin.Number = 0 },
		func(l *Log) { l.Parts[0].Origin.Number = numberMax + 1 },
		func(l *Log) { l.Parts[0].Origin.Commit = numberMax + 1 },
		func(l *Log) { l.Parts[0].Origin.Epoch, l.Epoch = 0, 1 },
		func(l *Log) { l.Parts[0].Origin.Name = strings.Repeat("x", 256) },
	} {
		l := exampleClone()
		change(l)
		if _, err := c.EncodeLog(l); err == nil {
			t.Errorf("change %d: it is encoded", i)
		}
		p, err := c.seal(&l.Header, logKind, l.version(), l.unsealed())
		check(t, err)
		if _, err := c.DecodeLog("log/1", p); !errors.Is(err, corrupt.Err) {
			t.Errorf("change %d: %v", i, err)
		}
	}
	s := exampleState()
	s.Origin = &Origin{Number: 1, Epoch: 1}
	if _, err := c.EncodeState(s); err == nil {
		t.Error("a state with an origin without an id is encoded")
	}
}

// TestOrigin_hasTheVersionOfItsObject has objects of the version of others.
func TestOrigin_hasTheVersionOfItsObject(t *testing.T) {
	c := newCodec(t)
	state, old := exampleState(), exampleState()
	state.Origin, old.Origin = exampleOrigin(), exampleOldClone().Parts[0].Origin
	for i, o := range []interface{ version() uint32 }{
		exampleClone().Parts[0].Origin, exampleOldClone().Parts[0].Origin, (*Origin)(nil),
	} {
		if got, want := o.version(), []uint32{2, 1, 1}[i]; got != want {
			t.Errorf("origin %d: the version is %d, not %d", i, got, want)
		}
	}
	for _, l := range []*Log{exampleClone(), exampleOldClone(), exampleClaim(), exampleParts()} {
		p, err := c.seal(&l.Header, logKind, 3-l.version(), l.unsealed())
		check(t, err)
		if _, err := c.DecodeLog("log/1", p); !errors.Is(err, corrupt.Err) {
			t.Errorf("a log object of the other version: %v", err)
		}
	}
	for _, s := range []*State{state, old, exampleState()} {
		p, err := c.seal(&s.Header, stateKind, 3-s.Origin.version(), s.unsealed())
		check(t, err)
		if _, err := c.DecodeState("state/5", p); !errors.Is(err, corrupt.Err) {
			t.Errorf("a state of the other version: %v", err)
		}
	}
}

// The commits of a clone wait for nobody, so there may be more of them than in other objects.
func TestOrigin_comesWithManyCommits(t *testing.T) {
	c := newCodec(t)
	l := exampleClone()
	l.Parts[2].Commits.Batches[0] = make([]byte, logRawMax+1)
	p, err := c.EncodeLog(l)
	check(t, err)
	_, err = c.DecodeLog("log/1", p)
	check(t, err)
}

func TestDraft_isDecodedAsItWas(t *testing.T) {
	p := EncodeDraft(exampleDraft())
	if got, err := DecodeDraft("origin", p); err != nil || *got != *exampleDraft() {
		t.Errorf("got %+v: %v", got, err)
	}
	for i := range p {
		p[i] ^= 1
		if _, err := DecodeDraft("origin", p); !isRefusal(err) {
			t.Errorf("a draft with byte %d changed: %v", i, err)
		}
		p[i] ^= 1
		if _, err := DecodeDraft("origin", p[:i]); !isRefusal(err) {
			t.Errorf("a draft of %d bytes: %v", i, err)
		}
	}
	for _, d := range []*Draft{{Origin: ID{1}}, {ID: ID{1}}, {Origin: ID{1}, ID: ID{1}}} {
		if _, err := DecodeDraft("origin", EncodeDraft(d)); !errors.Is(err, corrupt.Err) {
			t.Errorf("the draft %+v: %v", d, err)
		}
	}
}

func isRefusal(err error) bool {
	return errors.Is(err, corrupt.Err) || errors.Is(err, corrupt.ErrFormat)
}

func FuzzDecodeDraft(f *testing.F) {
	f.Add(EncodeDraft(exampleDraft()))
	f.Fuzz(func(t *testing.T, p []byte) {
		d, err := DecodeDraft("origin", p)
		if err == nil && string(EncodeDraft(d)) != string(p) {
			t.Fatalf("%x is encoded as %x", p, EncodeDraft(d))
		}
		if err != nil && !isRefusal(err) {
			t.Fatal(err)
		}
	})
}
