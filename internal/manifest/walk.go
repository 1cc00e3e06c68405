package manifest

import (
	"errors"
	"iter"

	"github.com/stoatdb/stoat/internal/fileheader"
)

// Frame is a frame of a manifest as it was found, or bytes that are none.
type Frame struct {
	At, End int64    // where it lies in the file
	Version *Version // what it holds, if it is the first
	Edit    *Edit    // what it holds, if it is another
	After   *Version // with all edits so far; nil if one of them is not known or does not fit

	// Err is why it holds nothing, or why its edit does not fit the version before.
	Err error
	// Torn is that the bytes are no frame, but may be one that a crash cut off: no other follows.
	Torn bool
}

var errNoFrame = errors.New("no valid frame")

// Walk calls fn with the frames of a manifest, of which data is the file, front to back and without
// a gap, whatever is wrong with them: it is for programs that show or save what is in damaged
// files. It starts behind the file's header, of which it takes what the seed of the frames can be.
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

// frames returns the frames of a manifest, of which data is the file, with that seed.
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

// frameAt returns the frame at the offset at, or the bytes up to where the next one may be.
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

// seedOf returns the checksum in the header, unless the first frame is valid with the one that the
// header should have.
func seedOf(data []byte) uint32 {
	computed, stored := fileheader.Seeds(data)
	if _, ok := frameEnd(data, computed, fileheader.Size); ok {
		return computed
	}
	return stored
}
