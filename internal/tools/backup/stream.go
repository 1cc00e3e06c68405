package backup

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/stoatdb/stoat/internal/checksum"
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/vfs"
)

const (
	// titleName is the first file of a stream, which says what the stream is, and sumsName the one
	// with the checksums of all files before it.
	titleName = "STOAT-BACKUP"
	sumsName  = "STOAT-BACKUP.sums"

	title = "Stoat backup, version "
	// streamVersion is the version of streams. The file formats have their own.
	streamVersion = 1
	advice        = "To make a database of it: stoat restore - NEWDB < THIS-ARCHIVE\n"
)

// Stream is a backup that is written as one archive: a title, the files of a database, and the
// manifest, which makes them a backup. Close releases the source.
type Stream struct {
	originals
	meter *Meter
	tar   *tar.Writer
	sums  []byte // a line for each file
}

// NewStream starts a backup of the source that goes to w.
func NewStream(w io.Writer, source Source, meter *Meter) (*Stream, error) {
	s := &Stream{originals: originals{source: source}, meter: meter, tar: tar.NewWriter(w)}
	if source.MayVanish {
		if err := s.hold(); err != nil {
			return nil, errors.Join(err, s.release())
		}
	}
	text := fmt.Appendf(nil, "%s%d\n%s", title, streamVersion, advice)
	if err := s.write(titleName, text); err != nil {
		return nil, errors.Join(err, s.release())
	}
	s.sums = appendSum(nil, titleName, checksum.Of(text))
	if err := s.wrappings(); err != nil {
		return nil, errors.Join(err, s.release())
	}
	return s, nil
}

// Table writes a table of the source.
func (s *Stream) Table(ctx context.Context, t *manifest.Table) error {
	return s.send(ctx, item{folder.Table, t.Number, int64(t.Size)})
}

// Commit follows all tables: it writes the value files and then the manifest with the given number.
func (s *Stream) Commit(ctx context.Context, number uint64) error {
	version := *s.source.Version
	for _, i := range itemsOf(&version) {
		if i.kind == folder.Table {
			continue
		}
		if err := s.send(ctx, i); err != nil {
			return err
		}
	}
	if err := s.write(sumsName, s.sums); err != nil {
		return err
	}
	version.LogNumber, version.NextNumber, version.Backup = number+1, number+1, true
	image, err := manifest.Image(number, s.source.Database, &version)
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	to, _, err := s.member(folder.Manifest.Name(number), int64(len(image)))
	if err == nil {
		_, err = to.Write(image)
	}
	if err == nil {
		err = to.Close()
	}
	if err != nil {
		return err
	}
	return s.tar.Close()
}

// Close releases the source. A stream that was not committed is not a backup.
func (s *Stream) Close() error { return s.release() }

func (s *Stream) send(ctx context.Context, i item) error {
	return s.withOriginal(i.name(), func(file vfs.File) error {
		to, stored, err := s.member(i.name(), i.size)
		if err != nil {
			return err
		}
		err = s.chunks(ctx, file, i.name(), i.size, func(p []byte, _ int64) error {
			s.meter.Bytes.Add(uint64(len(p)))
			_, err := to.Write(p)
			return err
		})
		if err == nil {
			err = to.Close()
		}
		if err != nil {
			return err
		}
		s.meter.Files.Add(1)
		s.sums = appendSum(s.sums, i.name(), uint32(*stored))
		return nil
	})
}

// write writes a file that is never encrypted.
func (s *Stream) write(name string, data []byte) error {
	if err := s.start(name, int64(len(data))); err != nil {
		return err
	}
	_, err := s.tar.Write(data)
	return err
}

func (s *Stream) start(name string, size int64) error {
	return s.tar.WriteHeader(&tar.Header{
		Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o600,
	})
}

func appendSum(dst []byte, name string, sum uint32) []byte {
	return fmt.Appendf(dst, "%08x  %s\n", sum, name)
}
