package vfs

import "os"

// WritingZeros returns OS as it is where the file system reserves no blocks on request.
func WritingZeros() FS { return zerosFS{} }

// FileWritingZeros wraps an open file like those of [WritingZeros].
func FileWritingZeros(f *os.File) File { return zerosFile{&osFile{opened: opened{file: f}}} }

type zerosFS struct{ osFS }

func (s zerosFS) Create(name string) (File, error) { return zeros(s.osFS.Create(name)) }
func (s zerosFS) Open(name string) (File, error)   { return zeros(s.osFS.Open(name)) }

func zeros(f File, err error) (File, error) {
	if err != nil {
		return nil, err
	}
	return zerosFile{f.(*osFile)}, nil
}

type zerosFile struct{ *osFile }

func (f zerosFile) Preallocate(size int64) error { return f.preallocate(size, writeZeros) }
