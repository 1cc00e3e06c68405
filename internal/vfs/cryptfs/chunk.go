package cryptfs

import "encoding/binary"

// A chunk is what one write, or a part of it, has put into a file: a header, content and its tag.
// It lies within a block, whose start is that of a chunk, unless that is lost; so a place in the
// content is found without reading the file from its beginning.
//
// The header is one block of AES, of
//
//	 0  check    u32, the low half of the chunk's offset in the file
//	 4  start    u48, where its content starts in the content of the file
//	10  behind   u32, how much before that was not durable; 2³²-1 if it was more
//	14  length   u16, of its content
//
// and a nonce of the content's encryption is the chunk's offset. So each header is valid only in
// its place, and can be found after damage, whatever became of its content.
const (
	blockBytes = 32 << 10
	chunkData  = 4 << 10 // at most
	chunkHead  = 16
	chunkExtra = chunkHead + tagBytes

	behindMax = 1<<32 - 1
)

// chunk is the header of a chunk.
type chunk struct {
	at      int64 // offset in the file
	start   int64 // of its content in the content of the file
	durable int64 // how much content of the file was durable when it was written, at least
	length  int
}

func (c chunk) end() int64 { return c.start + int64(c.length) }

// next is the offset in the file behind the chunk.
func (c chunk) next() int64 { return c.at + chunkExtra + int64(c.length) }

// room returns how much content a chunk at an offset may have, less than 1 if it must be in the
// next block.
func room(at int64) int {
	return min(chunkData, int(blockBytes-at%blockBytes)-chunkExtra)
}

// put encrypts the header of a chunk to the start of p.
func (c chunk) put(p []byte, keys fileKeys) {
	var h [chunkHead]byte
	binary.LittleEndian.PutUint64(h[4:], uint64(c.start))
	binary.LittleEndian.PutUint32(h[0:], uint32(c.at))
	binary.LittleEndian.PutUint32(h[10:], uint32(min(c.start-c.durable, behindMax)))
	binary.LittleEndian.PutUint16(h[14:], uint16(c.length))
	keys.block.Encrypt(p[:chunkHead], h[:])
}

// parseChunk decrypts the header at the start of p, which is at an offset of the file; ok is false
// if there is none.
func parseChunk(p []byte, at int64, keys fileKeys) (c chunk, ok bool) {
	var h [chunkHead]byte
	keys.block.Decrypt(h[:], p[:chunkHead])
	if binary.LittleEndian.Uint32(h[:]) != uint32(at) {
		return chunk{}, false
	}
	c = chunk{
		at:     at,
		start:  int64(binary.LittleEndian.Uint64(h[4:]) & (1<<48 - 1)),
		length: int(binary.LittleEndian.Uint16(h[14:])),
	}
	if behind := int64(binary.LittleEndian.Uint32(h[10:])); behind < behindMax {
		c.durable = c.start - behind
	}
	ok = c.length >= 1 && c.length <= room(at) && c.durable >= 0 && c.start <= at
	return c, ok
}

// seal appends a chunk to dst, which has nothing of the same block behind its start.
func (c chunk) seal(dst, content []byte, keys fileKeys) []byte {
	from := len(dst)
	dst = append(dst, make([]byte, chunkHead)...)
	c.put(dst[from:], keys)
	n := nonce(uint64(c.at), nonceChunk)
	return keys.aead.Seal(dst, n[:], content, dst[from:from+chunkHead])
}

// open appends the content of a chunk to dst; p is all of the chunk. ok is false if it does not
// verify.
func (c chunk) open(dst, p []byte, keys fileKeys) (content []byte, ok bool) {
	n := nonce(uint64(c.at), nonceChunk)
	content, err := keys.aead.Open(dst, n[:], p[chunkHead:], p[:chunkHead])
	return content, err == nil
}
