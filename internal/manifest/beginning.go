package manifest

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/vfs"
)

// LoadBeginning reads as much as is valid of a manifest that is damaged, or of its copy: what
// stands before the damage, which says what the database once was. name is that of the file in dir,
// number and database are the manifest's, so that its header may be damaged, too. State.Torn says
// whether anything follows.
func LoadBeginning(
	files vfs.FS, dir, name string, number uint64, database [16]byte,
) (*State, error) {
	m := &image{path: filepath.Join(dir, name), number: number}
	file, err := files.Open(m.path)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", name, err)
	}
	if err := errors.Join(m.read(file), file.Close()); err != nil {
		return nil, err
	}
	_, seed := newHeader(number, database)
	payload, at, ok := readFrame(m.data, seed, headerBytes)
	if !ok {
		return nil, corrupt.New(m.path, headerBytes, "the version is damaged")
	}
	state := &State{Number: number, Database: database}
	if state.Version, err = decodeVersion(payload); err != nil {
		return nil, m.damage(headerBytes, err)
	}
	for at < int64(len(m.data)) {
		payload, end, ok := readFrame(m.data, seed, at)
		if !ok {
			state.Torn = true
			break
		}
		next, err := apply(state.Version, payload)
		if err != nil {
			state.Torn = true
			break
		}
		state.Version, at = next, end
	}
	return state, nil
}
