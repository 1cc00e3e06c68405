package manifest

import "github.com/stoatdb/stoat/internal/corrupt"

// Image returns the bytes of a manifest that says v and nothing more.
func Image(number uint64, database [16]byte, v *Version) ([]byte, error) {
	if err := v.check(); err != nil {
		return nil, err
	}
	image, _ := newImage(number, database, v)
	return image, nil
}

// Parse returns what the bytes of a manifest say, as [LoadFile] does. Errors name it as path.
func Parse(path string, number uint64, data []byte) (*State, error) {
	m := &image{path: path, number: number, data: data}
	state, err := m.load()
	if err == nil && state == nil {
		err = corrupt.New(path, 0, "the manifest is not complete")
	}
	return state, err
}
