package cryptfs

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/stoatdb/stoat/internal/checksum"
	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/fileheader"
	names "github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/vfs"
)

// A wrapping is a file of 128 bytes that has the data key, encrypted with the user's key:
//
//	  0  magic    8 bytes, STOATKEY
//	  8  version  u32, 1
//	 12  zero     u32
//	 16  key id   8 bytes, of the user's key
//	 24  data id  8 bytes, of the data key
//	 32  salt     32 random bytes
//	 64  wrapped  32 bytes, the data key, encrypted; and its tag of 16 bytes
//	112  zero     12 bytes
//	124  checksum u32, CRC-32C of the 124 bytes before
const (
	wrapBytes   = 128
	wrapKeyAt   = 16
	wrapDataAt  = 24
	wrapSaltAt  = 32
	wrappedAt   = wrapSaltAt + saltBytes
	wrapZeroAt  = wrappedAt + KeyBytes + tagBytes
	wrapSumAt   = wrapBytes - checksum.Size
	wrapVersion = 1

	keyPrefix = names.KeyPrefix
)

// wrap returns a wrapping of a data key.
func (k *Key) wrap(data *dataKey) ([]byte, error) {
	p := make([]byte, wrapBytes)
	salt, err := random(saltBytes)
	if err != nil {
		return nil, err
	}
	copy(p[wrapSaltAt:], salt)
	return p, k.wrapInto(p, data)
}

// wrapInto fills in a wrapping that has its salt.
func (k *Key) wrapInto(p []byte, data *dataKey) error {
	copy(p, fileheader.Wrapping)
	binary.LittleEndian.PutUint32(p[8:], wrapVersion)
	copy(p[wrapKeyAt:], k.id[:])
	copy(p[wrapDataAt:], data.id[:])
	aead, err := k.wrapper(p[:wrapSaltAt], p[wrapSaltAt:wrappedAt])
	if err != nil {
		return err
	}
	n := nonce(0, nonceHeader)
	aead.Seal(p[wrappedAt:wrappedAt], n[:], data.secret, p[:wrappedAt])
	binary.LittleEndian.PutUint32(p[wrapSumAt:], checksum.Of(p[:wrapSumAt]))
	return nil
}

// wrapping is a wrapping that was read.
type wrapping struct {
	name       string // of its file
	key, data  [idBytes]byte
	raw        []byte // nil if a crash or a full disk kept the end from the disk
	unreadable error  // what is wrong with it
}

// readWrapping reads the file with the given name.
func readWrapping(files vfs.ReadOnly, name string) (w wrapping, err error) {
	file, err := files.Open(name)
	if err != nil {
		return w, err
	}
	p := make([]byte, wrapBytes+1)
	n, err := file.ReadAt(p, 0)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return w, fmt.Errorf("read %s: %w", name, err)
	}
	return parseWrapping(name, p[:n]), nil
}

// parseWrapping parses a wrapping.
func parseWrapping(name string, p []byte) wrapping {
	w := wrapping{name: name}
	whole := len(p) == wrapBytes &&
		binary.LittleEndian.Uint32(p[wrapSumAt:]) == checksum.Of(p[:wrapSumAt])
	start := bytes.TrimRight(p, "\x00")
	if len(start) <= wrapSumAt && !whole && bytes.HasPrefix(
		[]byte(fileheader.Wrapping), start[:min(len(start), len(fileheader.Wrapping))]) {
		return w // it was never complete
	}
	switch {
	case !whole:
		w.unreadable = corrupt.New(name, 0, "the checksum of the key file does not match")
	case !bytes.HasPrefix(p, []byte(fileheader.Wrapping)):
		w.unreadable = corrupt.New(name, 0, "the file is not a key file of Stoat")
	case binary.LittleEndian.Uint32(p[8:]) > wrapVersion:
		w.unreadable = fmt.Errorf("%s was written by a newer version of Stoat: %w", name,
			corrupt.ErrFormat)
	case binary.LittleEndian.Uint32(p[8:]) != wrapVersion || binary.LittleEndian.Uint32(p[12:]) != 0 ||
		len(bytes.TrimRight(p[wrapZeroAt:wrapSumAt], "\x00")) > 0:
		w.unreadable = corrupt.New(name, 0, "reserved bytes of the key file are not zero")
	default:
		w.key, w.data = [idBytes]byte(p[wrapKeyAt:]), [idBytes]byte(p[wrapDataAt:])
		w.raw = p
	}
	return w
}

// open returns the data key. The error matches corrupt.ErrKey if it is wrapped with another key.
func (w wrapping) open(key *Key) (*dataKey, error) {
	if w.unreadable != nil {
		return nil, w.unreadable
	}
	if w.key != key.id {
		return nil, fmt.Errorf("%s is for the key %x, not for %x: %w", w.name, w.key, key.id,
			corrupt.ErrKey)
	}
	aead, err := key.wrapper(w.raw[:wrapSaltAt], w.raw[wrapSaltAt:wrappedAt])
	if err != nil {
		return nil, err
	}
	n := nonce(0, nonceHeader)
	secret, err := aead.Open(nil, n[:], w.raw[wrappedAt:wrapZeroAt], w.raw[:wrappedAt])
	if err != nil {
		return nil, corrupt.New(w.name, 0, "the key file does not verify")
	}
	data, err := key.newDataKey(secret)
	if err == nil && data.id != w.data {
		err = corrupt.New(w.name, 0, "the key file has another key than it says")
	}
	return data, err
}

// verify returns an error unless the wrapping is whole and has the data key. One for another key is
// not opened: a reader may still have the key from before a change.
func (w wrapping) verify(key *Key, data *dataKey) error {
	switch {
	case w.unreadable != nil:
		return w.unreadable
	case w.raw == nil:
		return corrupt.New(w.name, 0, "the key file is cut off")
	case w.data != data.id:
		return corrupt.New(w.name, 0, "the key file is of another database, or of an earlier one here")
	case w.key != key.id:
		return nil
	}
	_, err := w.open(key)
	return err
}
