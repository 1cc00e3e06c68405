package s3

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/stoatdb/stoat/remote/objstore"
)

// answering is a transport that answers requests without a server.
type answering func(r *http.Request) *http.Response

func (a answering) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return nil, err
		}
	}
	return a(r), nil
}

// answer returns an answer with a status and, unless it is empty, the code of an error.
func answer(r *http.Request, status int, code string) *http.Response {
	body := ""
	if code != "" {
		body = "<Error><Code>" + code + "</Code></Error>"
	}
	return &http.Response{
		StatusCode: status, ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, Request: r,
		Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
	}
}

// A bucket that locks objects wants an MD5 of each.
func TestPut_sendsAnMD5OnceAServerInsistsOnIt(t *testing.T) {
	requests := 0
	s := opened(t, "localhost:1", "", answering(func(r *http.Request) *http.Response {
		if requests++; r.Header.Get("Content-Md5") == "" {
			return answer(r, http.StatusBadRequest, "InvalidRequest")
		}
		return answer(r, http.StatusOK, "")
	}))
	for i, want := range []int{2, 3} {
		err := s.Create(t.Context(), "a", []byte("body"))
		if err != nil || requests != want {
			t.Errorf("after %d requests, want %d: %v", requests, want, err)
		}
		if err := s.Put(t.Context(), "b", bytes.NewReader([]byte("body")), 4); err != nil {
			t.Errorf("object %d: %v", i, err)
		}
		requests--
	}
}

func TestPut_sendsAnMD5IfNoSignatureCoversTheDigest(t *testing.T) {
	for _, kind := range []credentials.SignatureType{
		credentials.SignatureV4, credentials.SignatureV2, credentials.SignatureAnonymous,
	} {
		has := false
		s, err := Open(Options{
			Endpoint: "localhost:1", Insecure: true, Region: "us-east-1", Bucket: testBucket,
			Credentials: credentials.NewStatic(testKey, testSecret, "", kind),
			Transport: answering(func(r *http.Request) *http.Response {
				has = r.Header.Get("Content-Md5") != ""
				return answer(r, http.StatusOK, "")
			}),
		})
		if err == nil {
			err = s.Create(t.Context(), "a", []byte("body"))
		}
		if want := kind != credentials.SignatureV4; err != nil || has != want {
			t.Errorf("%v: an MD5 is sent: %t, want %t: %v", kind, has, want, err)
		}
	}
}

// Who gives credentials to machines may not answer for a moment, and then a request goes unsigned.
func TestCreate_isNotDeniedForGoodWithoutCredentials(t *testing.T) {
	for _, kind := range []credentials.SignatureType{
		credentials.SignatureV4, credentials.SignatureAnonymous,
	} {
		s, err := Open(Options{
			Endpoint: "localhost:1", Insecure: true, Region: "us-east-1", Bucket: testBucket,
			Credentials: credentials.NewStatic(testKey, testSecret, "", kind),
			Transport: answering(func(r *http.Request) *http.Response {
				return answer(r, http.StatusForbidden, "AccessDenied")
			}),
		})
		if err == nil {
			err = s.Create(t.Context(), "a", []byte("body"))
		}
		if want := kind == credentials.SignatureV4; errors.Is(err, objstore.ErrDenied) != want {
			t.Errorf("%v: denied for good: %t, want %t: %v", kind, !want, want, err)
		}
	}
}
