package cryptfs

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/stoatdb/stoat/internal/checksum"
	"github.com/stoatdb/stoat/internal/corrupt"
)

const fileInfo = "stoat-file"

// dataKey is the random key of a folder, from which those of its files are derived. Immutable.
type dataKey struct {
	id     [idBytes]byte
	secret []byte
	gcm    func(secret []byte) (cipher.AEAD, error)
	// buffers are shared by all files: one for each would be garbage after a read or two.
	buffers *scratch
}

// newDataKey returns a data key that is wrapped with k; it keeps the secret of KeyBytes bytes.
func (k *Key) newDataKey(secret []byte) (*dataKey, error) {
	id, err := hkdf.Key(sha256.New, secret, nil, dataInfo, idBytes)
	if err != nil {
		return nil, err
	}
	return &dataKey{[idBytes]byte(id), secret, k.gcm, new(scratch)}, nil
}

// fileKeys are the keys of one file. Safe for concurrent use.
type fileKeys struct {
	aead  cipher.AEAD  // for contents
	block cipher.Block // for the headers of chunks

	buffers *scratch // for what is read
}

// derive returns the keys of a file, by the fixed part of its header and its salt.
func (k *dataKey) derive(fixed, salt []byte) (keys fileKeys, err error) {
	secret, err := hkdf.Key(sha256.New, k.secret, salt, fileInfo+string(fixed), 2*KeyBytes)
	if err != nil {
		return keys, err
	}
	if keys.aead, err = k.gcm(secret[:KeyBytes]); err != nil {
		return keys, err
	}
	keys.buffers = k.buffers
	keys.block, err = aes.NewCipher(secret[KeyBytes:])
	return keys, err
}

// newHeader returns a header for a new file, and the file's keys.
func (k *dataKey) newHeader(l layout) (p []byte, keys fileKeys, err error) {
	p = make([]byte, headerBytes)
	salt, err := random(saltBytes)
	if err != nil {
		return nil, keys, err
	}
	copy(p[saltAt:], salt)
	keys, err = k.seal(p, l)
	return p, keys, err
}

// seal fills in the header p, which has its salt, and returns the keys of its file.
func (k *dataKey) seal(p []byte, l layout) (keys fileKeys, err error) {
	copy(p, magic)
	binary.LittleEndian.PutUint32(p[8:], version)
	binary.LittleEndian.PutUint32(p[12:], uint32(l))
	copy(p[idAt:], k.id[:])
	if keys, err = k.derive(p[:saltAt], p[saltAt:tagAt]); err != nil {
		return keys, err
	}
	n := nonce(0, nonceHeader)
	keys.aead.Seal(p[tagAt:tagAt], n[:], nil, p[:tagAt])
	binary.LittleEndian.PutUint32(p[sumAt:], checksum.Of(p[:sumAt]))
	return keys, nil
}

// keysOf returns the keys of a file.
func (k *dataKey) keysOf(h header, name string) (fileKeys, error) {
	if h.id != k.id {
		return fileKeys{}, fmt.Errorf("%s is encrypted with the data key %x, and the folder has %x; "+
			"its files %s*, or this file, are of another database: %w", name, h.id, k.id, keyPrefix,
			corrupt.ErrKey)
	}
	keys, err := k.derive(h.raw[:saltAt], h.salt[:])
	if err != nil {
		return fileKeys{}, err
	}
	n := nonce(0, nonceHeader)
	if _, err := keys.aead.Open(nil, n[:], h.raw[tagAt:zeroAt], h.raw[:tagAt]); err != nil {
		return fileKeys{}, corrupt.New(name, 0, "the header of the encrypted file does not verify")
	}
	return keys, nil
}

// What a nonce is for, in its last four bytes.
const (
	nonceMiddle = iota // a page that is not the last
	nonceLast          // the last page
	nonceChunk
	nonceHeader
)

// nonce returns the nonce of the page with a number, or of the chunk at an offset.
func nonce(at uint64, use byte) (n [nonceBytes]byte) {
	for i := range 8 {
		n[i] = byte(at >> (8 * i))
	}
	n[8] = use
	return n
}
