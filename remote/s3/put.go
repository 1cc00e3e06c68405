package s3

import (
	"context"
	"crypto/md5" // servers check it, and nobody relies on it for more
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/minio/minio-go/v7"
)

// invalidRequest is the code by which servers insist on an MD5.
const invalidRequest = "InvalidRequest"

// put sends a body in one request, whose signature covers its digest, which servers compare. The
// digest is that of same: the same bytes.
//
// Two kinds of requests carry an MD5, too, which takes twice as long: those whose signature covers
// no digest, and those to a bucket that locks objects, where servers insist on it.
func (s *Store) put(
	ctx context.Context, name string, body, same io.ReaderAt, size int64, create bool,
) error {
	withMD5 := s.wantsMD5.Load() || !s.signsDigests()
	err := s.putOnce(ctx, name, body, same, size, create, withMD5)
	if minio.ToErrorResponse(err).Code == invalidRequest && !withMD5 {
		s.wantsMD5.Store(true)
		err = s.putOnce(ctx, name, body, same, size, create, true)
	}
	return err
}

// signsDigests reports whether the signature of a request covers the digest of its body: not if
// there is none, or an old one.
func (s *Store) signsDigests() bool {
	c, err := s.client.GetCreds()
	return err == nil && !c.SignerType.IsAnonymous() && !c.SignerType.IsV2()
}

// putOnce is put, with or without an MD5.
func (s *Store) putOnce(
	ctx context.Context, name string, body, same io.ReaderAt, size int64, create, withMD5 bool,
) error {
	options := minio.PutObjectOptions{
		ContentType:          "application/octet-stream",
		DisableContentSha256: true, // or else, some providers get chunks that they do not understand
	}
	if create {
		options.SetMatchETagExcept("*")
	}
	digest, sum := sha256.New(), md5.New()
	var to io.Writer = digest
	if withMD5 {
		to = io.MultiWriter(digest, sum)
	}
	if n, err := io.Copy(to, io.NewSectionReader(same, 0, size)); err != nil || n < size {
		return errors.Join(err, fmt.Errorf("read the body: %d of %d bytes", n, size))
	}
	old := ""
	if withMD5 {
		old = base64.StdEncoding.EncodeToString(sum.Sum(nil))
	}
	_, err := minio.Core{Client: s.client}.PutObject(ctx, s.bucket, s.prefix+name,
		io.NewSectionReader(body, 0, size), size, old, hex.EncodeToString(digest.Sum(nil)), options)
	return err
}
