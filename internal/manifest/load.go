package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/fileheader"
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/vfs"
)

// State is what a manifest says.
type State struct {
	Number   uint64   // of the manifest
	Database [16]byte // the identity of the database
	Version  *Version // with all edits applied
	Torn     bool     // the last edit was not completely written; it is not in Version
	Edits    int      // in the file, behind the version that it starts with
	End      int64    // of the last of them
}

// Load reads the manifest in dir that counts: the highest numbered one that is complete, that is,
// whose header and version are valid. Higher ones that are not complete were cut off while they
// were created.
//
// If there is no manifest, or only the beginning of the first, the error matches fs.ErrNotExist.
// Bytes that were valid once, as a valid frame behind them shows, are damage.
func Load(files vfs.Files, dir string) (*State, error) {
	found, err := folder.List(files, dir)
	if err != nil {
		return nil, err
	}
	return LoadAmong(files, dir, found.Of(folder.Manifest))
}

// LoadAmong is Load for a caller that has listed dir: numbers are those of the manifests in it,
// ascending.
func LoadAmong(files vfs.ReadOnly, dir string, numbers []uint64) (*State, error) {
	return loadAmong(files, dir, folder.Manifest, numbers)
}

// loadAmong is LoadAmong of manifests or of their copies, which kind says.
func loadAmong(
	files vfs.ReadOnly, dir string, kind folder.Kind, numbers []uint64,
) (*State, error) {
	var incomplete []*image
	for _, number := range slices.Backward(numbers) {
		m, err := readImage(files, dir, kind.Name(number), number)
		if err != nil {
			return nil, err
		}
		state, err := m.load()
		if err != nil {
			return nil, err
		}
		if state == nil {
			incomplete = append(incomplete, m)
			continue
		}
		for _, above := range incomplete {
			if err := above.checkUnused(state.Database); err != nil {
				return nil, err
			}
		}
		return state, nil
	}
	for _, m := range incomplete {
		if err := m.checkCutOff(); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("no manifest in %s: %w", dir, fs.ErrNotExist)
}

// image is a manifest file in memory.
type image struct {
	path   string
	number uint64
	data   []byte

	begun    bool // the header is valid
	database [16]byte
	seed     uint32
}

// readImage reads the file of that name, which is a manifest with the number, or its copy.
func readImage(files vfs.ReadOnly, dir, name string, number uint64) (*image, error) {
	m := &image{path: filepath.Join(dir, name), number: number}
	file, err := files.Open(m.path)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", name, err)
	}
	err = m.read(file)
	return m, errors.Join(err, file.Close())
}

func (m *image) read(file vfs.File) error {
	size, err := file.Size()
	if err != nil {
		return fmt.Errorf("read %s: %w", m.path, err)
	}
	if size > maxFileBytes {
		return corrupt.New(m.path, maxFileBytes, "the file has %d bytes", size)
	}
	m.data = make([]byte, size)
	n, err := file.ReadAt(m.data, 0)
	if n == len(m.data) {
		return nil
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("read %s: %w", m.path, err)
}

// load returns what the manifest says, or nil if it is not complete.
func (m *image) load() (*State, error) {
	if err := m.parseHeader(); err != nil || !m.begun {
		return nil, err
	}
	payload, at, ok := readFrame(m.data, m.seed, fileheader.Size)
	if !ok {
		return nil, nil
	}
	v, err := decodeVersion(payload)
	if err != nil {
		return nil, m.damage(fileheader.Size, err)
	}
	state := &State{Number: m.number, Database: m.database, Version: v, End: at}
	for at < int64(len(m.data)) {
		payload, end, ok := readFrame(m.data, m.seed, at)
		if !ok {
			state.Torn = true
			return state, m.checkTail(at)
		}
		if state.Version, err = apply(state.Version, payload); err != nil {
			return nil, m.damage(at, err)
		}
		at = end
		state.Edits, state.End = state.Edits+1, at
	}
	return state, nil
}

func apply(v *Version, payload []byte) (*Version, error) {
	e, err := decodeEdit(payload)
	if err != nil {
		return nil, err
	}
	return v.Apply(e)
}

// parseHeader sets what follows from the header, if it is valid. It is an error if the header says
// that the file is not this manifest.
func (m *image) parseHeader() error {
	got, sealed, err := fileheader.Parse(m.path, m.data, fileheader.Manifest)
	if err != nil || !sealed {
		return err
	}
	m.begun, m.database, m.seed = true, got.Database, got.Seed()
	return fileheader.New(fileheader.Manifest, m.number, got.Database).Check(m.path, m.data)
}

// checkTail returns an error if there is a valid frame behind the offset at: each was written after
// those before it were durable.
func (m *image) checkTail(at int64) error {
	if found, ok := findFrame(m.data, m.seed, at); ok {
		return corrupt.New(m.path, at, "invalid, followed by a valid frame at offset %d", found)
	}
	return nil
}

// checkUnused returns an error if an incomplete manifest has edits, and so was complete once. Its
// header may be damaged; the identity is that of a lower manifest.
func (m *image) checkUnused(database [16]byte) error {
	m.seed = fileheader.New(fileheader.Manifest, m.number, database).Seed()
	return m.checkTail(fileheader.Size)
}

// checkCutOff returns an error unless an incomplete manifest ends, but for zeros, before its
// version does.
func (m *image) checkCutOff() error {
	at, size, end := int64(0), int64(len(bytes.TrimRight(m.data, "\x00"))), int64(fileheader.Size)
	if m.begun {
		at, end = fileheader.Size, fileheader.Size+frameHeaderBytes
		if frame, ok := frameEnd(m.data, m.seed, at); ok {
			size, end = int64(len(m.data)), frame
		}
	}
	if size >= end {
		return corrupt.New(m.path, at, "checksum does not match")
	}
	return nil
}

// damage makes an error of what is wrong with a frame whose checksum is right.
func (m *image) damage(at int64, err error) error {
	if errors.Is(err, corrupt.ErrFormat) {
		return fmt.Errorf("%s: %w", m.path, err)
	}
	return corrupt.New(m.path, at, "%v", err)
}
