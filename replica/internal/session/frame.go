package session

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/stoatdb/stoat/replica/internal/wire"
)

// FrameMax is the most bytes of the payload of a frame.
const FrameMax = 64 << 10

// kind is the type of a frame.
type kind byte

// The types of frames. All other numbers are reserved.
const (
	frameHello       kind = 1
	frameAuth        kind = 2
	frameDescription kind = 3
	frameToken       kind = 4
	frameHeads       kind = 5
	frameWant        kind = 6
	frameCredit      kind = 7
	framePart        kind = 8 // of a run, or a fork proof, that continues in the next frame
	frameRun         kind = 9
	frameMark        kind = 10
	frameAck         kind = 11
	frameRefused     kind = 12
	frameBye         kind = 13
	framePacked      kind = 14 // other frames, compressed by zstd
	frameProof       kind = 16 // a fork proof, whose first bytes may be in frames of framePart
	frameDenied      kind = 17 // why the peer gets nothing
	frameHolds       kind = 18 // the collections whose content the sink asks for
	frameRanges      kind = 0x24
	frameOpen        kind = 0x25 // ranges that are to be opened
)

// ErrPeer reports a peer that does not keep to the protocol.
var ErrPeer = errors.New("the peer does not keep to the protocol")

// broken returns an error that is ErrPeer.
func broken(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrPeer}, args...)...)
}

// appendFrame appends a frame.
func appendFrame(dst []byte, k kind, payload []byte) []byte {
	return wire.AppendBytes(append(dst, byte(k)), payload)
}

// readSize is the size of the buffer of a connection: what a session keeps while it is idle.
const readSize = 512

// readFrame reads a frame. The payload is the caller's. Moved is called after the first byte, and
// again behind each partMax bytes of the payload.
func readFrame(r *bufio.Reader, moved func()) (k kind, payload []byte, err error) {
	first, err := r.ReadByte()
	if err != nil {
		return 0, nil, fmt.Errorf("read from the peer: %w", err)
	}
	moved()
	var head [3]byte // of the length: at most FrameMax
	for i := range head {
		if head[i], err = r.ReadByte(); err != nil {
			return 0, nil, cutOff(err)
		}
		if head[i] < 0x80 {
			break
		}
	}
	n, size := binary.Uvarint(head[:])
	if size <= 0 || size != wire.UvarintLen(n) || n > FrameMax {
		return 0, nil, broken("a frame of %d bytes", n)
	}
	payload = make([]byte, n)
	for part := range slices.Chunk(payload, partMax) {
		if _, err := io.ReadFull(r, part); err != nil {
			return 0, nil, cutOff(err)
		}
		moved()
	}
	return kind(first), payload, nil
}

// cutOff returns the error of a connection that ended within a frame.
func cutOff(err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("read from the peer: %w", err)
}
