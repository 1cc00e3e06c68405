package vfs

import "os"

// osFile is an open file of the operating system.
type osFile struct {
	opened
	place place // that it was opened at
}

func (f *osFile) ReadAt(p []byte, off int64) (int, error) { return f.file.ReadAt(p, off) }

func (f *osFile) WriteAt(p []byte, off int64) (int, error) {
	n, err := f.file.WriteAt(p, off)
	return n, asKnown(err)
}

func (f *osFile) Close() error { return asKnown(f.file.Close()) }

func (f *osFile) Sync() error { return asKnown(datasync(f.file)) }

func (f *osFile) StartSync(offset, n int64) { startSync(f.file, offset, n) }

func (f *osFile) Size() (int64, error) {
	info, err := f.file.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (f *osFile) Truncate(size int64) error { return asKnown(f.file.Truncate(size)) }

func (f *osFile) Preallocate(size int64) error { return f.preallocate(size, extend) }

// preallocate is Preallocate with the function that adds the bytes from old to size.
func (f *osFile) preallocate(size int64, extend func(f *os.File, old, size int64) error) error {
	old, err := f.Size()
	if err != nil || size <= old {
		return err
	}
	return asKnown(extend(f.file, old, size))
}

// writeZeros is the extend of file systems that reserve no blocks on request: it makes them find
// blocks by writing zeros, to the new bytes only, since the old ones may be written meanwhile.
func writeZeros(f *os.File, old, size int64) error {
	zeros := make([]byte, min(size-old, 256<<10))
	for old < size {
		n, err := f.WriteAt(zeros[:min(size-old, int64(len(zeros)))], old)
		if err != nil {
			return err
		}
		old += int64(n)
	}
	return nil
}

func (f *osFile) Map(size int64) (data []byte, unmap func() error, err error) {
	return mapFile(f.file, size)
}

// Unloader returns a function that takes the pages of data, a map of file, out of the memory of the
// process. They come back when they are next touched; the system may keep them meanwhile. The
// function must not be called after unmap. It does nothing if the file system keeps its files in
// memory.
func Unloader(file File, data []byte) (unload func()) {
	if _, ok := file.(*osFile); !ok {
		return func() {}
	}
	return func() { unloadMap(data) }
}

func (f *osFile) Named() error { return f.named(f.place) }
