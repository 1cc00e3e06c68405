// Package cryptstore is an [objstore.Store] that encrypts objects before another store gets them.
//
// [Open] wraps any store, and everything that takes a store takes the result: a database, readers
// and restores, on any machine that has the key. The store sees names, sizes and times, and nothing
// of what is in an object.
//
// Each store has a random data key. An object key/ followed by a number has it encrypted with the
// user's key, so [Rekey] changes that key by one small object. An object is encrypted as pages:
//
//	object := page+                   each of 16,384 bytes; the last one may be shorter
//	page   := head salt ciphertext tag
//	head   := magic:8 version:u32     STOATENO, 1
//	salt   := HMAC-SHA-256 of the name and the content, under a key from the data key
//
// The key of an object comes from the data key, its name and its salt, by HKDF-SHA-256. A page is
// AES-256-GCM with the head as associated data, and its number and whether it is the last one as
// the nonce. So any part is read alone, without asking for more; and an object that was cut off,
// put together from others, or stored under another name does not verify. The salt makes equal
// bytes of one name equal ciphertext, as [objstore.Store] wants it of who tries again, and gives
// different bytes different keys, so that no nonce is used twice.
//
// What a store withholds or brings back, encryption does not tell: whoever can delete objects can
// delete the newest ones.
//
// The layout of all bytes is in docs/remote-format.md.
package cryptstore
