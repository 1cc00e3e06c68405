package inspect

import (
	"github.com/stoatdb/stoat/internal/batch"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/wal"
)

// logSummary is what the frames of a segment add up to.
type logSummary struct {
	frames, commits uint64
	first, last     uint64 // commits
	bad             bool   // a frame was noted as damage
}

func (f *source) printLog(p *printer) error {
	var sum logSummary
	ending, err := wal.Walk(f.Patient, f.path, func(piece wal.Piece) error {
		f.printFrame(p, &sum, piece)
		return p.err
	})
	if err != nil {
		return err
	}
	i := inner(0).called("in all").with(count(sum.frames, "frame"), count(sum.commits, "commit"))
	if sum.commits > 0 {
		i = i.with(number("first", sum.first), number("last", sum.last))
	}
	p.put(i)
	if ending.Damaged && !sum.bad {
		p.damaged(ending.At, "a frame further on says that the bytes here were durable, so they have "+
			"changed since: a replay stops here with an error")
	}
	return nil
}

// printFrame prints a frame, or bytes that are none.
func (f *source) printFrame(p *printer, sum *logSummary, piece wal.Piece) {
	size := uint64(piece.End - piece.At)
	if !piece.Frame {
		if piece.Zeros {
			p.put(at(piece.At).called("zeros").with(count(size, "byte"),
				mark("preallocated", piece.End == f.size)))
			return
		}
		p.put(at(piece.At).called("no frame").with(count(size, "byte"), prose("meaning",
			"a tail that a crash tore, unless a frame behind it says that it was durable")))
		return
	}
	sum.frames++
	checks := "ok"
	if piece.Payload == nil {
		checks = "bad"
		if piece.End-piece.At < wal.HeaderBytes+int64(piece.Length) {
			checks = "cut off"
		}
	}
	p.put(at(piece.At).called("frame").with(word("kind", piece.Kind),
		number("commit", piece.Commit), count(uint64(piece.Length), "byte"),
		number("synced", piece.Synced), word("checksum", checks)))
	if piece.Problem != "" {
		sum.bad = true
		p.damaged(piece.At, "%s", piece.Problem)
	}
	if piece.Payload == nil {
		return
	}
	if piece.Kind == "whole" || piece.Kind == "last" {
		if sum.commits++; sum.commits == 1 {
			sum.first = piece.Commit
		}
		sum.last = piece.Commit
	}
	err := batch.Read(piece.Payload, func(k []byte, e keyspace.Entry) error {
		if f.blocks {
			p.put(entry(1, k, e, len(e.Value)))
		}
		return nil
	})
	if err != nil {
		sum.bad = true
		p.damaged(piece.At, "payload with a right checksum: %v", err)
	}
}
