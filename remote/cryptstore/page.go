package cryptstore

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"io"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/fileheader"
	"github.com/stoatdb/stoat/internal/vfs/cryptfs"
)

const (
	pageBytes = 16 << 10 // of a page as stored
	magic     = fileheader.EncryptedObject
	version   = 1

	headBytes  = len(magic) + 4
	saltBytes  = sha256.Size
	tagBytes   = 16
	extraBytes = headBytes + saltBytes + tagBytes // of a page, besides its content

	objectInfo = "stoat-object"
	saltInfo   = "stoat-object-salt"
)

// head is what every page begins with. Immutable.
var head = binary.LittleEndian.AppendUint32([]byte(magic), version)

// layout is how content is divided into pages. Tests have small ones.
type layout struct{ page int64 } // bytes of a page as stored

func (l layout) content() int64 { return l.page - int64(extraBytes) }

// pages returns how many pages an object with so much content has. There is at least one.
func (l layout) pages(size int64) int64 { return max(1, (size+l.content()-1)/l.content()) }

// stored returns how long an object with so much content is.
func (l layout) stored(size int64) int64 { return size + l.pages(size)*int64(extraBytes) }

// size returns how much content an object has that is stored in so many bytes; 0 if no object is.
func (l layout) size(stored int64) int64 {
	return max(0, stored-(stored+l.page-1)/l.page*int64(extraBytes))
}

// salt returns the salt of an object with this content.
func salt(secret cryptfs.Secret, name string, size int64, content io.Reader) ([]byte, error) {
	key, err := hkdf.Key(sha256.New, secret[:], nil, saltInfo, sha256.Size)
	if err != nil {
		return nil, err
	}
	h := hmac.New(sha256.New, key)
	h.Write(append(binary.LittleEndian.AppendUint64(nil, uint64(len(name))), name...))
	n, err := io.Copy(h, content)
	if err == nil && n < size {
		err = io.ErrUnexpectedEOF
	}
	return h.Sum(nil), err
}

// sealer encrypts and decrypts the pages of one object. Safe for concurrent use.
type sealer struct {
	layout
	name string
	salt []byte
	aead cipher.AEAD
}

// newSealer returns what encrypts the object with a name and a salt.
func newSealer(l layout, secret cryptfs.Secret, name string, salt []byte) (*sealer, error) {
	key, err := hkdf.Key(sha256.New, secret[:], salt, objectInfo+name, cryptfs.KeyBytes)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCM(block)
	return &sealer{l, name, salt, aead}, err
}

// nonce returns the nonce of a page.
func nonce(page int64, last bool) (n [12]byte) {
	binary.LittleEndian.PutUint64(n[:], uint64(page))
	if last {
		n[8] = 1
	}
	return n
}

// seal appends a page with the content.
func (s *sealer) seal(dst, content []byte, page int64, last bool) []byte {
	n := nonce(page, last)
	dst = append(append(dst, head...), s.salt...)
	return s.aead.Seal(dst, n[:], content, head)
}

// open decrypts a page, and returns its content. In place, that overwrites the page, which is lost
// if it does not verify; otherwise it is in new memory.
func (s *sealer) open(stored []byte, page int64, last, inPlace bool) (content []byte, ok bool) {
	n := nonce(page, last)
	sealed := stored[headBytes+saltBytes:]
	var to []byte
	if inPlace {
		to = sealed[:0]
	}
	content, err := s.aead.Open(to, n[:], sealed, head)
	return content, err == nil
}

func (s *sealer) damaged(page int64) error {
	return corrupt.New(s.name, page*s.page,
		"the encrypted page does not verify: it is damaged, or not of this object")
}
