package raftstore

import (
	"bytes"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stoatdb/stoat"
)

// randomLog returns an entry that has each optional part now and then.
func randomLog(rng *rand.Rand, index uint64) *raft.Log {
	log := &raft.Log{
		Index: index, Term: rng.Uint64N(1 << rng.IntN(64)), Type: raft.LogType(rng.IntN(6)),
	}
	if n := rng.IntN(300); n > 0 {
		log.Data = make([]byte, n)
		for i := range log.Data {
			log.Data[i] = byte(rng.IntN(256))
		}
	}
	if rng.IntN(2) == 0 {
		log.Extensions = bytes.Repeat([]byte{byte(index)}, 1+rng.IntN(200))
	}
	if rng.IntN(2) == 0 {
		log.AppendedAt = time.Unix(rng.Int64N(1<<40)-1<<39, rng.Int64N(1e9)).UTC()
	}
	return log
}

func TestParseLog_invertsAppendLog(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	for i := range uint64(2000) {
		want, got := randomLog(rng, i), new(raft.Log)
		if err := parseLog(i, appendLog(nil, want), got); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d: got %+v, %v, want %+v", seed, got, err, want)
		}
	}
}

func TestAppendLog_isWhatTheFormatSays(t *testing.T) {
	log := &raft.Log{Index: 7, Term: 300, Type: raft.LogConfiguration, Data: []byte("data"),
		Extensions: []byte("ext"), AppendedAt: time.Unix(1_700_000_000, 5)}
	const want = "0305ac0280c49fd50c0503657874" + "64617461"
	if got := hex.EncodeToString(appendLog(nil, log)); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := hex.EncodeToString(appendLog(nil, &raft.Log{Term: 1})); got != "000001" {
		t.Errorf("the smallest entry is %s", got)
	}
}

func TestParseLog_refusesWhatCannotBe(t *testing.T) {
	for _, bad := range []string{
		"", "00", "0000", "040001", "000080", "010001", "01000180c49fd50c", "020001", "02000100",
		"0200010561", "01000100ffffffffff7f",
	} {
		p, _ := hex.DecodeString(bad)
		if err := parseLog(1, p, new(raft.Log)); !errors.Is(err, stoat.ErrCorrupt) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func FuzzParseLog(f *testing.F) {
	rng := rand.New(rand.NewPCG(1, 0))
	for i := range uint64(20) {
		f.Add(appendLog(nil, randomLog(rng, i)))
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		var log, again raft.Log
		if parseLog(1, bytes.Clone(p), &log) != nil {
			return
		}
		err := parseLog(1, appendLog(nil, &log), &again)
		if err != nil || !reflect.DeepEqual(log, again) {
			t.Fatalf("%+v became %+v, %v", log, again, err)
		}
	})
}
