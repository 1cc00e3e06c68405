package replica

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"time"
)

// Limits of requests and answers.
const (
	postFirst    = 4 << 10  // bytes of a request that are read before its space is known
	postStranger = 1 << 20  // bytes of a request of a device that may not read the space
	postEach     = 16 << 10 // bytes that must arrive, or be read, within postPatience
	postPatience = time.Minute
)

// signedBody is the body of a request or an answer whose digest was signed. It is read as it
// arrives, so the digest is known to be right only at the end. It is not safe for concurrent use.
type signedBody struct {
	r       io.Reader
	digest  [32]byte
	sum     hash.Hash
	left    int64                    // bytes that may be read
	control *http.ResponseController // of the request; nil for an answer
	since   int                      // bytes since the deadline was set
}

func newSignedBody(r io.Reader, digest [32]byte) *signedBody {
	return &signedBody{r: r, digest: digest, sum: sha256.New()}
}

// errTooLarge reports a request or an answer of too many bytes.
var errTooLarge = fmt.Errorf("it has more bytes than it may have: %w", ErrInvalid)

// Read implements io.Reader.
func (b *signedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooLarge
	}
	n, err := b.r.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	b.sum.Write(p[:n])
	if b.since += n; b.since >= postEach {
		b.wait(postPatience)
	}
	return n, err
}

// wait gives the peer some time for what follows, if the server has deadlines.
func (b *signedBody) wait(d time.Duration) {
	b.since = 0
	if b.control != nil {
		_ = b.control.SetReadDeadline(time.Now().Add(d))
	}
}

// end returns an error unless this was all, and what was signed. What was not used is skipped.
func (b *signedBody) end() error {
	_, err := io.Copy(io.Discard, b)
	if err == nil && [32]byte(b.sum.Sum(nil)) != b.digest {
		err = fmt.Errorf("%s is not that of the body: %w", headerDigest, ErrInvalid)
	}
	return err
}

// digestOf returns the digest that headers say a body has.
func digestOf(h http.Header) (digest [32]byte, err error) {
	p, err := hex.DecodeString(h.Get(headerDigest))
	if err == nil && len(p) != len(digest) {
		err = errors.New("it has another size")
	}
	if err != nil {
		return digest, fmt.Errorf("%s: %w: %w", headerDigest, err, ErrInvalid)
	}
	return [32]byte(p), nil
}
