// Package s3 is a [objstore.Store] in a bucket with the S3 API, of whichever provider. Creating an
// object takes the condition If-None-Match, which S3, Google Cloud Storage, R2, MinIO, Ceph and
// versitygw honour; [objstore.Probe] refuses those that ignore it.
//
// The client library does not repeat requests that store something. It would take its own object,
// whose first answer was lost, for one of another client's. So a Create that gets no clear answer
// reads the object back and compares: the same bytes are its own. It never concludes from a missing
// object that a request will not land. Requests that only read are made up to three times: busy
// servers refuse some now and then.
package s3

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/stoatdb/stoat/remote/objstore"
)

// Options say where a bucket is.
type Options struct {
	Endpoint string // host and perhaps port, without a scheme
	Insecure bool   // HTTP instead of HTTPS
	Region   string // empty: asked for, or us-east-1
	Bucket   string
	Prefix   string // of all names, such as databases/a/; may be empty

	// Credentials, by default those of the environment, of the usual files, or of the machine.
	Credentials *credentials.Credentials
	// Transport carries the requests; nil is one with usual limits. A request that makes no progress
	// for 30 seconds is cut, by whichever. An upload has up to two minutes more once the system has
	// all of it, since nobody sees how that moves, and more each time that this was too little.
	Transport http.RoundTripper
}

// readTries is how often a request is made that only reads, within a second or so.
const readTries = 3

// Store is a store in a bucket. Safe for concurrent use.
type Store struct {
	client         *minio.Client // repeats nothing
	reading        minio.Core    // repeats requests that fail; only for reading
	bucket, prefix string
	wantsMD5       atomic.Bool // the server has refused an object without
}

var _ objstore.Streamer = (*Store)(nil)

// idleConnections is how many connections stay open while nothing needs them, for a minute: as many
// as the requests of package remote for a log that it reads, which come in rounds.
const idleConnections = 64

// Open returns the store in a bucket, without a request.
func Open(o Options) (*Store, error) {
	if o.Credentials == nil {
		o.Credentials = credentials.NewChainCredentials([]credentials.Provider{
			&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}, &credentials.IAM{},
		})
	}
	if o.Transport == nil {
		usual, err := minio.DefaultTransport(!o.Insecure)
		if err != nil {
			return nil, fmt.Errorf("open bucket %s: %w", o.Bucket, err)
		}
		usual.ResponseHeaderTimeout = 0 // it knows nothing of progress
		usual.MaxIdleConnsPerHost = idleConnections
		o.Transport = usual
	}
	options := minio.Options{
		Creds: o.Credentials, Secure: !o.Insecure, Region: o.Region,
		Transport: attentive{o.Transport, newLink()}, MaxRetries: 1,
	}
	client, err := minio.New(o.Endpoint, &options)
	if err != nil {
		return nil, fmt.Errorf("open bucket %s: %w", o.Bucket, err)
	}
	options.MaxRetries = readTries
	reading, err := minio.NewCore(o.Endpoint, &options)
	if err != nil {
		return nil, fmt.Errorf("open bucket %s: %w", o.Bucket, err)
	}
	return &Store{client: client, reading: *reading, bucket: o.Bucket, prefix: o.Prefix}, nil
}

// Create implements [objstore.Store]. If the answer to the request is lost, it asks once whether
// the object is there.
func (s *Store) Create(ctx context.Context, name string, body []byte) error {
	if err := check(ctx, name); err != nil {
		return err
	}
	p := bytes.NewReader(body)
	err := s.put(ctx, name, p, p, int64(len(body)), true)
	if err == nil {
		return nil
	}
	fail := func(kind error) error { return fmt.Errorf("create %s: %w: %w", name, kind, err) }
	switch outcome(err) {
	case refused:
		return fail(objstore.ErrExists)
	case failed:
		return fmt.Errorf("create %s: %w", name, s.told(err))
	}
	there, getErr := s.Get(ctx, name, 0, int64(len(body))+1)
	if getErr == nil && bytes.Equal(there, body) {
		return nil
	}
	// There is nothing yet, or another object, which may be deleted while the request is under way.
	return fail(objstore.ErrUnknown)
}

// Put implements [objstore.Store]. A repeated one replaces the object.
func (s *Store) Put(ctx context.Context, name string, body io.ReaderAt, size int64) error {
	if err := check(ctx, name); err != nil {
		return err
	}
	if err := s.put(ctx, name, body, objstore.Unpaced(body), size, false); err != nil {
		return fmt.Errorf("put %s: %w", name, s.told(err))
	}
	return nil
}

// Get implements [objstore.Store].
func (s *Store) Get(ctx context.Context, name string, off, n int64) ([]byte, error) {
	if err := check(ctx, name); err != nil {
		return nil, err
	}
	p, err := s.get(ctx, name, off, n)
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", name, err)
	}
	return p, nil
}

func (s *Store) get(ctx context.Context, name string, off, n int64) ([]byte, error) {
	b, err := s.open(ctx, name, off, n)
	if err != nil {
		return nil, err
	}
	p, err := read(b, b.size)
	return p, errors.Join(err, b.Close())
}

// GetTo implements [objstore.Streamer].
func (s *Store) GetTo(
	ctx context.Context, name string, off, n int64, w io.Writer,
) (written int64, err error) {
	if err := check(ctx, name); err != nil {
		return 0, err
	}
	b, err := s.open(ctx, name, off, n)
	if err == nil {
		written, err = io.Copy(w, b)
		err = errors.Join(err, b.Close())
	}
	if err != nil {
		return written, fmt.Errorf("get %s: %w", name, err)
	}
	return written, nil
}

// body is the bytes of an answer that were asked for.
type body struct {
	io.Reader
	io.Closer
	size int64 // as the server says
}

// open asks for n bytes of an object from off on, as Get does.
func (s *Store) open(ctx context.Context, name string, off, n int64) (*body, error) {
	var options minio.GetObjectOptions
	switch {
	case off < 0:
		options.Set("Range", fmt.Sprintf("bytes=-%d", -max(off, -math.MaxInt64)))
	case n == 0:
		options.Set("Range", "bytes=0-0") // only whether the object exists
	case n < 0 || off > 1<<62-1 || n > 1<<62-1:
		options.Set("Range", fmt.Sprintf("bytes=%d-", off))
	default:
		options.Set("Range", fmt.Sprintf("bytes=%d-%d", off, off+n-1))
	}
	if off == 0 && n < 0 {
		options = minio.GetObjectOptions{}
	}
	answer, info, _, err := s.reading.GetObject(ctx, s.bucket, s.prefix+name, options)
	if off < 0 && isBeyond(err) { // of an object that is shorter, some providers have no such suffix
		return s.open(ctx, name, 0, n)
	}
	if isBeyond(err) {
		return &body{http.NoBody, http.NoBody, 0}, nil
	}
	if minio.ToErrorResponse(err).Code == minio.NoSuchKey {
		return nil, objstore.ErrNotExist
	}
	if err != nil {
		return nil, s.told(err)
	}
	limit := n
	if n < 0 {
		limit = math.MaxInt64
	}
	return &body{io.LimitReader(answer, limit), answer, min(limit, info.Size)}, nil
}

// read returns all that a reader has. If that is as long as expected, the bytes are allocated once:
// a restore that reads parts of megabytes would have several times as much memory for them.
func read(from io.Reader, expected int64) ([]byte, error) {
	const most = 64 << 20 // more is believed when it has come
	var buf bytes.Buffer
	buf.Grow(int(min(max(expected, 0), most)) + bytes.MinRead)
	_, err := buf.ReadFrom(from)
	return buf.Bytes(), err
}

// isBeyond reports whether an error is that for a range beyond the end of an object, which exists.
func isBeyond(err error) bool {
	return minio.ToErrorResponse(err).StatusCode == http.StatusRequestedRangeNotSatisfiable
}

// List implements [objstore.Store]. It leaves out objects with names that a store cannot have.
func (s *Store) List(
	ctx context.Context, prefix, after string, limit int,
) ([]objstore.Object, error) {
	if limit <= 0 {
		return nil, fmt.Errorf("list %s: the limit is %d", prefix, limit)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	startAfter := ""
	if after != "" {
		startAfter = s.prefix + after
	}
	var listed []objstore.Object
	for o := range s.reading.ListObjectsIter(ctx, s.bucket, minio.ListObjectsOptions{
		Prefix: s.prefix + prefix, StartAfter: startAfter, Recursive: true, MaxKeys: min(limit, 1000),
	}) {
		if o.Err != nil {
			return nil, fmt.Errorf("list %s: %w", prefix, s.told(o.Err))
		}
		name := strings.TrimPrefix(o.Key, s.prefix)
		if objstore.CheckName(name) != nil {
			continue // of others, such as the marker of a folder that a console has made
		}
		listed = append(listed, objstore.Object{Name: name, Size: o.Size, Modified: o.LastModified})
		if len(listed) == limit {
			break
		}
	}
	return listed, nil
}

// Delete implements [objstore.Store], with one request for each name: some providers lack the
// request for several.
func (s *Store) Delete(ctx context.Context, names []string) error {
	for _, name := range names {
		if err := objstore.CheckName(name); err != nil {
			return err
		}
	}
	for _, name := range names {
		if err := check(ctx, name); err != nil {
			return err
		}
		err := s.client.RemoveObject(ctx, s.bucket, s.prefix+name, minio.RemoveObjectOptions{})
		if err != nil && minio.ToErrorResponse(err).Code != minio.NoSuchKey {
			return fmt.Errorf("delete %s: %w", name, s.told(err))
		}
	}
	return nil
}

func check(ctx context.Context, name string) error {
	if err := objstore.CheckName(name); err != nil {
		return err
	}
	return ctx.Err()
}

// result is what the error of a request to create an object says.
type result int

const (
	unknown result = iota
	refused        // the name is taken
	failed         // the request was understood, and had no effect
)

func outcome(err error) result {
	switch response := minio.ToErrorResponse(err); response.StatusCode {
	case http.StatusPreconditionFailed:
		return refused
	case http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound,
		http.StatusRequestEntityTooLarge, http.StatusNotImplemented:
		return failed
	}
	return unknown
}
