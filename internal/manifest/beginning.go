package manifest

import (
	"github.com/stoatdb/stoat/internal/fileheader"
	"github.com/stoatdb/stoat/internal/vfs"
)

// LoadBeginning reads as much as is valid of a manifest that is damaged, or of its copy: what
// stands before the damage, which says what the database once was. name is that of the file in dir,
// number and database are the manifest's, so that its header may be damaged, too. State.Torn says
// whether anything follows.
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
