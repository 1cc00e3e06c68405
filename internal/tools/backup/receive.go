package backup

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/stoatdb/stoat/internal/checksum"
	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/vfs"
)

const (
	// streamName is what errors call a stream.
	streamName = "backup stream"
	// maxTitleBytes and maxMetaBytes bound what is read into memory at once.
	maxTitleBytes = 4 << 10
	maxMetaBytes  = 1 << 30
)

// BeginEmpty locks the folder dir to receive a stream, and creates it if it is missing. It is an
// error if the folder holds anything except the remains of an unfinished backup.
func BeginEmpty(target vfs.FS, dir string) (*Folder, error) {
	f, err := Begin(target, dir, Source{Version: new(manifest.Version)}, new(Meter))
	if errors.Is(err, errOther) {
		err = fmt.Errorf("the directory %s holds a database already, which may be what a restore was to "+
			"make that was interrupted at its end; choose another directory", dir)
	}
	return f, err
}

// Receive writes the files of a stream into the folder, durable except for their names, and returns
// the state in the manifest. The caller must verify the files' contents and commit the version. The
// error matches corrupt.Err if the stream is cut off or damaged, and corrupt.ErrFormat if it is not
// a Stoat backup. Opening decrypts an encrypted stream, and is nil for any other; the error matches
// corrupt.ErrKey if it should have been otherwise.
func (f *Folder) Receive(
	ctx context.Context, r io.Reader, opening Opening,
) (*manifest.State, error) {
	f.begun = true
	if err := f.markUnfinished(); err != nil {
		return nil, err
	}
	in := &receiver{
		folder: f, ctx: ctx, from: input{r: r}, sizes: make(map[string]int64), opening: opening,
	}
	in.tar = tar.NewReader(&in.from)
	state, err := in.run()
	if err != nil {
		return nil, err
	}
	f.source.Database, f.source.Version = state.Database, state.Version
	f.Reserve(state.Version.NextNumber)
	return state, nil
}

// input reads a stream and remembers the offset and the first error.
type input struct {
	r   io.Reader
	at  int64
	err error // of r, if it is not the end
}

// Read implements io.Reader.
func (in *input) Read(p []byte) (n int, err error) {
	n, err = in.r.Read(p)
	in.at += int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		in.err = err
	}
	return n, err
}

// receiver reads one stream.
type receiver struct {
	folder *Folder
	ctx    context.Context
	from   input
	tar    *tar.Reader
	sums   []byte           // a line for each file
	sizes  map[string]int64 // of the files' content

	opening Opening // decrypts the files; nil if they are not encrypted
	sealed  bool    // it has the key
}

func (in *receiver) run() (*manifest.State, error) {
	if err := in.title(); err != nil {
		return nil, err
	}
	for {
		h, err := in.next()
		if err != nil {
			return nil, err
		}
		if h.Name == sumsName {
			break
		}
		if _, isKey := folder.ParseKey(h.Name); isKey && len(in.sizes) == 0 {
			err = in.unwrap(h.Name)
		} else {
			err = in.file(h)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := in.checkSums(); err != nil {
		return nil, err
	}
	return in.manifest()
}

func (in *receiver) next() (*tar.Header, error) {
	h, err := in.tar.Next()
	if err != nil {
		return nil, in.failure(err)
	}
	if h.Typeflag != tar.TypeReg {
		return nil, in.damage("%q is not a regular file", h.Name)
	}
	for key := range h.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse") {
			return nil, in.damage("the file %q has holes", h.Name)
		}
	}
	return h, nil
}

func (in *receiver) title() error {
	h, err := in.tar.Next()
	switch {
	case errors.Is(err, io.EOF):
		return in.damage("the stream is empty")
	case errors.Is(err, tar.ErrHeader), err == nil && h.Name != titleName:
		return fmt.Errorf("the stream is no backup by Stoat: %w", corrupt.ErrFormat)
	case err != nil:
		return in.failure(err)
	}
	text, err := in.read(in.tar, maxTitleBytes)
	if err != nil {
		return err
	}
	line, _, _ := strings.Cut(string(text), "\n")
	number, ok := strings.CutPrefix(line, title)
	version, err := strconv.ParseUint(number, 10, 32)
	switch {
	case !ok || err != nil || version == 0:
		return in.damage("the title is %q", line)
	case version > streamVersion:
		return fmt.Errorf("the backup stream has version %d, this code reads %d; use a newer Stoat: %w",
			version, streamVersion, corrupt.ErrFormat)
	}
	in.sums = appendSum(nil, titleName, checksum.Of(text))
	return nil
}

// read returns all of r, which reads the current file, and has at most limit bytes.
func (in *receiver) read(r io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	switch {
	case err != nil:
		return nil, in.failure(err)
	case int64(len(data)) > limit:
		return nil, in.damage("a file has more than %d bytes", limit)
	}
	return data, nil
}

func (in *receiver) file(h *tar.Header) error {
	kind, number := folder.Parse(h.Name)
	if !kind.HoldsData() {
		return in.damage("%q is no name of a file of a database", h.Name)
	}
	if _, twice := in.sizes[h.Name]; twice {
		return in.damage("%q comes twice", h.Name)
	}
	if err := in.folder.discard(kind, number); err != nil {
		return err
	}
	var stored sum
	from, size, err := in.content(h.Name, io.TeeReader(in.tar, &stored), h.Size)
	if err != nil {
		return err
	}
	in.sizes[h.Name] = size
	return in.folder.create(h.Name, func(file vfs.File) error {
		err := in.copyTo(file, from)
		in.sums = appendSum(in.sums, h.Name, uint32(stored))
		return err
	})
}

// copyTo copies the current file, which from reads.
func (in *receiver) copyTo(file vfs.File, from io.Reader) error {
	p := in.folder.buffer(0)
	for at := int64(0); ; {
		if in.ctx.Err() != nil {
			return context.Cause(in.ctx)
		}
		n, err := from.Read(p)
		if n > 0 {
			if _, err := file.WriteAt(p[:n], at); err != nil {
				return err
			}
			at += int64(n)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return in.failure(err)
		}
	}
}

// checkSums compares the files with the checksums, which are the current file.
func (in *receiver) checkSums() error {
	says, err := in.read(in.tar, maxMetaBytes)
	if err != nil || bytes.Equal(says, in.sums) {
		return err
	}
	want := bytes.Split(says, []byte("\n"))
	for i, line := range bytes.Split(in.sums, []byte("\n")) {
		if i >= len(want) || !bytes.Equal(line, want[i]) {
			return in.damage("a file does not match its checksum, or is missing; it came as %q", line)
		}
	}
	return in.damage("files are missing")
}

// manifest reads the manifest, which is the last file, and compares it with the files before it.
func (in *receiver) manifest() (*manifest.State, error) {
	h, err := in.next()
	if err != nil {
		return nil, err
	}
	kind, number := folder.Parse(h.Name)
	if kind != folder.Manifest {
		return nil, in.damage("%q is in the place of the manifest", h.Name)
	}
	from, _, err := in.content(h.Name, in.tar, h.Size)
	if err != nil {
		return nil, err
	}
	data, err := in.read(from, maxMetaBytes)
	if err != nil {
		return nil, err
	}
	state, err := manifest.Parse(streamName+": "+h.Name, number, data)
	if err != nil {
		return nil, err
	}
	if state.Torn || !state.Version.Backup {
		return nil, in.damage("the manifest is not that of a backup")
	}
	for _, i := range itemsOf(state.Version) {
		size, ok := in.sizes[i.name()]
		if !ok || size != i.size {
			return nil, in.damage("of %s there are %d bytes, the manifest says %d", i.name(), size, i.size)
		}
		delete(in.sizes, i.name())
	}
	for name := range in.sizes {
		return nil, in.damage("the manifest does not name %s", name)
	}
	return state, nil
}

func (in *receiver) damage(format string, args ...any) error {
	return corrupt.New(streamName, in.from.at, format, args...)
}

// failure returns the error that an error of the archive stands for.
func (in *receiver) failure(err error) error {
	switch {
	case errors.Is(err, corrupt.Err), errors.Is(err, corrupt.ErrKey),
		errors.Is(err, corrupt.ErrFormat):
		return err
	case in.from.err != nil:
		return fmt.Errorf("read the %s at offset %d: %w", streamName, in.from.at, in.from.err)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return in.damage("it ends before the backup does: it was cut off, or the backup failed")
	}
	return in.damage("%v", err)
}
