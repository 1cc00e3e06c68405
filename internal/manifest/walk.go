package manifest

import (
	"errors"
	"iter"

	"github.com/stoatdb/stoat/internal/fileheader"
)

// Frame is a part of a manifest as [Walk] found it: a frame, or bytes that hold none.
type Frame struct {
	At, End int64    // the offsets of its start and end
	Version *Version // its content, if it is the first frame
	Edit    *Edit    // its content, if it is a later frame
	After   *Version // with all edits so far; nil if one of them is unknown or does not fit

	// Err is why it has no content, or why its edit does not fit the version before.
	Err error
	// Torn says that the bytes may be a frame that a crash cut off: no frame follows.
	Torn bool
}

var errNoFrame = errors.New("no valid frame")

// Walk calls fn with the frames of a manifest file with these bytes, front to back and without a
// gap, whatever is wrong with them: it is for programs that show or salvage damaged files. It
// starts after the file header, which only tells it the seed of the frames.
func Walk(data []byte, fn func(Frame) error) error {
	if len(data) < fileheader.Size {
		return nil
	}
	for f := range frames(data, seedOf(data)) {
		if err := fn(f); err != nil {
			return err
		}
	}
	return nil
}

// frames yields the frames of a manifest file with these bytes, which were sealed with the seed.
func frames(data []byte, seed uint32) iter.Seq[Frame] {
	return func(yield func(Frame) bool) {
		var current *Version
		for at := int64(fileheader.Size); at < int64(len(data)); {
			f := frameAt(data, seed, at)
			if f.After = f.Version; f.Edit != nil && current != nil {
				f.After, f.Err = current.Apply(f.Edit)
			}
			if !yield(f) {
				return
			}
			current, at = f.After, f.End
		}
	}
}

// frameAt returns the frame at the offset at, or the bytes up to the next valid frame header.
func frameAt(data []byte, seed uint32, at int64) Frame {
	payload, end, ok := readFrame(data, seed, at)
	if !ok {
		next, found := findFrame(data, seed, at)
		if !found {
			next = int64(len(data))
		}
		return Frame{At: at, End: next, Err: errNoFrame, Torn: !found && at > fileheader.Size}
	}
	f := Frame{At: at, End: end}
	if at == fileheader.Size {
		f.Version, f.Err = decodeVersion(payload)
	} else {
		f.Edit, f.Err = decodeEdit(payload)
	}
	if f.Err != nil {
		f.Version, f.Edit = nil, nil
	}
	return f
}

// seedOf returns the checksum that the file header should have if the first frame is valid with it,
// otherwise the checksum that the header stores.
func seedOf(data []byte) uint32 {
	computed, stored := fileheader.Seeds(data)
	if _, ok := frameEnd(data, computed, fileheader.Size); ok {
		return computed
	}
	return stored
}
