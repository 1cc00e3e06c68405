package session

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"
	"time"
)

// slowPipe is a connection that takes what is written when it may.
type slowPipe struct {
	io.ReadWriteCloser
	taken chan struct{}
	bytes bytes.Buffer
	err   error
}

func (c *slowPipe) Write(p []byte) (int, error) {
	<-c.taken
	if c.err != nil {
		return 0, c.err
	}
	return c.bytes.Write(p)
}

// many returns frames of more than a burst that do not compress.
func many(of byte) []byte {
	var frames []byte
	for n := byte(0); len(frames) < burst+FrameMax; n++ {
		payload := make([]byte, FrameMax/2)
		for i, x := 0, uint32(of)<<8|uint32(n); i < len(payload); i++ {
			x = x*1664525 + 1013904223
			payload[i] = byte(x >> 24)
		}
		frames = appendFrame(frames, frameChunk, payload)
	}
	return frames
}

func TestOutlet_collectsWhileItWritesMany(t *testing.T) {
	conn := &slowPipe{taken: make(chan struct{})}
	s := &Session{conn: conn, writing: newWatchdog(conn, time.Hour)}
	o := outlet{s: s}
	first, second, last := many(1), many(2), appendFrame(nil, frameBye, nil)

	o.frames = slices.Clone(first)
	if err := o.flush(); err != nil { // which deadlocks if it writes now
		t.Fatal(err)
	}
	o.frames = append(o.frames[:0], second...)
	close(conn.taken)
	if err := o.flush(); err != nil {
		t.Fatal(err)
	}
	o.frames = append(o.frames[:0], last...)
	if err := errors.Join(o.flush(), o.wait()); err != nil {
		t.Fatal(err)
	}
	if want := slices.Concat(first, second, last); !bytes.Equal(conn.bytes.Bytes(), want) {
		t.Error("frames are not written in their order")
	}
}

func TestOutlet_reportsWhatFailedInTheBackground(t *testing.T) {
	broken := errors.New("broken pipe")
	conn := &slowPipe{taken: make(chan struct{}), err: broken}
	close(conn.taken)
	s := &Session{conn: conn, writing: newWatchdog(conn, time.Hour)}
	o := outlet{s: s}
	o.frames = many(1)
	if err := o.flush(); err != nil {
		t.Fatal(err)
	}
	o.frames = append(o.frames[:0], many(2)...)
	if err := o.flush(); !errors.Is(err, broken) {
		t.Errorf("the next frames are written with the error %v, want %v", err, broken)
	}
}
