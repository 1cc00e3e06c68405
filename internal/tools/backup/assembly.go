package backup

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"

	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/vfs"
)

// pieceBytes is how much of a file is fetched by one request, and piecesMost how many requests are
// on their way at a time: as much as a network of 300 MB/s carries during 100 ms. The files come
// nearly in their order, so that they can be verified meanwhile.
const pieceBytes, piecesMost = 2 << 20, 16

// assembly is the files of a version on their way to a folder, piece by piece, some at the same
// time, in their order.
type assembly struct {
	folder  *Folder
	inOrder bool // the files of the folder have to be written front to back
	fetch   Fetch
	landed  func(kind folder.Kind, number uint64)
	fail    context.CancelCauseFunc

	turn  sync.Cond // of mu: a piece was written, or fetching has ended
	mu    sync.Mutex
	files []*incoming // in their order
	next  int         // in files, the one that the next piece is of
}

// incoming is a file on its way.
type incoming struct {
	item
	file    vfs.File // nil before its first piece is asked for, and after the last one is there
	asked   int64    // bytes that were asked for
	missing int64    // bytes that are not there: with files in order, the last ones
}

// piece is a part of a file.
type piece struct {
	*incoming
	off, n int64
}

// run fetches everything.
func (a *assembly) run(ctx context.Context) error {
	a.turn.L = &a.mu
	defer context.AfterFunc(ctx, func() {
		a.mu.Lock() // or a piece that has just looked at ctx would wait for ever
		defer a.mu.Unlock()
		a.turn.Broadcast()
	})()
	var all sync.WaitGroup
	for range piecesMost {
		all.Go(func() {
			for ctx.Err() == nil {
				p, more, err := a.take()
				if err == nil && more {
					err = a.bring(ctx, p)
				}
				if err != nil {
					a.fail(err)
				}
				if !more {
					return
				}
			}
		})
	}
	all.Wait()
	return errors.Join(context.Cause(ctx), a.close())
}

// take returns the next piece to be fetched, whose file exists; more is false if there is none.
func (a *assembly) take() (p piece, more bool, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.next == len(a.files) {
		return piece{}, false, nil
	}
	in := a.files[a.next]
	if in.file == nil {
		if in.file, err = a.folder.folder.Create(a.folder.path(in.name())); err != nil {
			return piece{}, false, err
		}
	}
	p = piece{in, in.asked, min(in.size-in.asked, pieceBytes)}
	if in.asked += p.n; in.asked == in.size {
		a.next++
	}
	return p, true, nil
}

// bring fetches a piece. In a folder whose files are written in order, it is in memory until those
// before it are written.
func (a *assembly) bring(ctx context.Context, p piece) error {
	var to io.Writer = io.NewOffsetWriter(p.file, p.off)
	var held *bytes.Buffer
	if a.inOrder {
		held = bytes.NewBuffer(make([]byte, 0, p.n))
		to = held
	}
	if err := a.fetch(ctx, p.kind, p.number, p.off, p.n, to); err != nil {
		return err
	}
	if held != nil {
		if err := a.writeInTurn(ctx, p, held.Bytes()); err != nil {
			return err
		}
	}
	return a.written(p)
}

// writeInTurn writes a piece once those before it are written.
func (a *assembly) writeInTurn(ctx context.Context, p piece, held []byte) error {
	if err := a.await(ctx, p); err != nil {
		return err
	}
	_, err := p.file.WriteAt(held, p.off)
	return err
}

// await waits until all bytes before a piece are written. They were asked for before it.
func (a *assembly) await(ctx context.Context, p piece) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	for p.size-p.missing < p.off && ctx.Err() == nil {
		a.turn.Wait()
	}
	return ctx.Err()
}

// written counts a piece that is in its file, and ends the file with the last one.
func (a *assembly) written(p piece) error {
	p.file.StartSync(p.off, p.n)
	a.mu.Lock()
	p.missing -= p.n
	last := p.missing == 0
	a.turn.Broadcast()
	a.mu.Unlock()
	if last {
		return a.land(p.incoming)
	}
	return nil
}

// land ends a file that is there.
func (a *assembly) land(in *incoming) error {
	err := errors.Join(in.file.Sync(), in.file.Close())
	a.mu.Lock()
	in.file = nil
	a.mu.Unlock()
	if err != nil {
		return err
	}
	a.folder.meter.Files.Add(1)
	a.folder.meter.Bytes.Add(uint64(in.size))
	a.landed(in.kind, in.number)
	return nil
}

// close closes the files that are not there, after an error.
func (a *assembly) close() (err error) {
	for _, in := range a.files {
		if in.file != nil {
			err = errors.Join(err, in.file.Close())
		}
	}
	return err
}
