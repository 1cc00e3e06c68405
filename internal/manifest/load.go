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

// State is the content of a manifest.
type State struct {
	Number   uint64   // of the manifest
	Database [16]byte // the identity of the database
	Version  *Version // with all edits applied
	Torn     bool     // the last edit was not completely written and is not in Version
	Edits    int      // number of edits after the version at the start of the file
	End      int64    // offset at which the last of them ends
}

// Load reads the current manifest in dir: the highest numbered one that is complete, that is, whose
// header and version are valid. Creating a higher one was interrupted.
//
// If there is no manifest, or only an incomplete first one, the error matches fs.ErrNotExist. Bytes
// that were valid once, as a valid frame after them shows, are damage.
func Load(files vfs.Files, dir string) (*State, error) {
	found, err := folder.List(files, dir)
	if err != nil {
		return nil, err
	}
	return LoadAmong(files, dir, found.Of(folder.Manifest))
}

// LoadAmong is [Load] for a caller that has listed dir: numbers are the numbers of its manifests,
// ascending.
func LoadAmong(files vfs.ReadOnly, dir string, numbers []uint64) (*State, error) {
	return loadAmong(files, dir, folder.Manifest, numbers)
}

// loadAmong is LoadAmong for manifests or for their copies.
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

// LoadFile reads one manifest: the file name in dir, which was written as manifest number. Unlike
// [Load], it reports an incomplete manifest as damage.
func LoadFile(files vfs.Files, dir, name string, number uint64) (*State, error) {
	m, err := readImage(files, dir, name, number)
	if err != nil {
		return nil, err
	}
	return Parse(m.path, number, m.data)
}

// Parse is [LoadFile] for a manifest in memory. Errors call it path.
func Parse(path string, number uint64, data []byte) (*State, error) {
	m := &image{path: path, number: number, data: data}
	state, err := m.load()
	if err == nil && state == nil {
		err = corrupt.New(path, 0, "the manifest is not complete")
	}
	return state, err
}

// LoadBeginning reads a damaged manifest, or its copy, up to the damage: an older version of the
// database. It reads the file name in dir. Number and database are the manifest's; the header is
// not read, since it may be damaged, too. State.Torn says whether anything follows.
func LoadBeginning(
	files vfs.ReadOnly, dir, name string, number uint64, database [16]byte,
) (*State, error) {
	m, err := readImage(files, dir, name, number)
	if err != nil {
		return nil, err
	}
	seed := fileheader.New(fileheader.Manifest, number, database).Seed()
	state := &State{Number: number, Database: database}
	for f := range frames(m.data, seed) {
		if f.After == nil {
			state.Torn, err = true, f.Err
			break
		}
		if state.Version, state.End = f.After, f.End; f.Edit != nil {
			state.Edits++
		}
	}
	if state.Version == nil {
		if err == nil {
			err = errNoFrame
		}
		return nil, m.damage(fileheader.Size, err)
	}
	return state, nil
}

// image is a manifest file in memory.
type image struct {
	path   string
	number uint64
	data   []byte
	pieced bool // as vfs.InPieces says

	begun    bool // the header is valid
	database [16]byte
	seed     uint32
}

// readImage reads the file name in dir, which is the manifest number or its copy.
func readImage(files vfs.ReadOnly, dir, name string, number uint64) (*image, error) {
	m := &image{path: filepath.Join(dir, name), number: number}
	file, err := files.Open(m.path)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", name, err)
	}
	m.pieced = vfs.InPieces(file)
	err = m.read(file)
	return m, errors.Join(err, file.Close())
}

func (m *image) read(file vfs.File) error {
	size, err := file.Size()
	if err != nil {
		return fmt.Errorf("read %s: %w", m.path, err)
	}
	if size > maxFileBytes {
		return corrupt.New(m.path, maxFileBytes, "the file has %d bytes, which is too long", size)
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

// load decodes the manifest. It returns nil if the manifest is not complete.
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
		edit, err := decodeEdit(payload)
		if err == nil {
			state.Version, err = state.Version.Apply(edit)
		}
		if err != nil {
			return nil, m.damage(at, err)
		}
		at = end
		state.Edits, state.End = state.Edits+1, at
	}
	return state, nil
}

// parseHeader decodes the header, if it is valid. It returns an error if the file is not this
// manifest.
func (m *image) parseHeader() error {
	got, sealed, err := fileheader.Parse(m.path, m.data, fileheader.Manifest)
	if err != nil || !sealed {
		return err
	}
	m.begun, m.database, m.seed = true, got.Database, got.Seed()
	return fileheader.New(fileheader.Manifest, m.number, got.Database).Check(m.path, m.data)
}

// checkTail returns an error if a valid frame follows the offset at: a frame is written only after
// all before it are durable.
func (m *image) checkTail(at int64) error {
	if found, ok := findFrame(m.data, m.seed, at); ok {
		return corrupt.New(m.path, at, "invalid, followed by a valid frame at offset %d", found)
	}
	return nil
}

// checkUnused returns an error if an incomplete manifest has edits, and so was complete once. It
// takes the identity from a lower manifest, since the header may be damaged.
func (m *image) checkUnused(database [16]byte) error {
	m.seed = fileheader.New(fileheader.Manifest, m.number, database).Seed()
	return m.checkTail(fileheader.Size)
}

// checkCutOff returns an error unless an incomplete manifest, without trailing zeros, ends before
// its version does.
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

// damage returns the error for a frame whose checksum is right but whose content is not.
func (m *image) damage(at int64, err error) error {
	if errors.Is(err, corrupt.ErrFormat) {
		return fmt.Errorf("%s: %w", m.path, err)
	}
	return corrupt.New(m.path, at, "%v", err)
}
