package s3

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// pipe is a network whose connections have no buffers, to a server that serve is.
func pipe(serve func(net.Conn)) http.RoundTripper {
	return &http.Transport{
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			here, there := net.Pipe()
			go func() {
				defer there.Close()
				serve(there)
			}()
			return here, nil
		},
		DisableKeepAlives: true,
	}
}

// readHead reads the head of a request.
func readHead(t *testing.T, c net.Conn) {
	t.Helper()
	for head := []byte(nil); !bytes.HasSuffix(head, []byte("\r\n\r\n")); {
		var one [1]byte
		if _, err := c.Read(one[:]); err != nil {
			t.Error(err)
			return
		}
		head = append(head, one[0])
	}
}

// wasCut checks that a request was cut, after so long, or a moment later.
func wasCut(t *testing.T, began time.Time, err error, after time.Duration) {
	t.Helper()
	took := time.Since(began)
	if !errors.Is(err, errSilent) || took < after || took > after+time.Second {
		t.Errorf("after %v: %v", took, err)
	}
}

func TestGet_isCutWhenItsBodyStalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := opened(t, "server", "", pipe(func(c net.Conn) {
			readHead(t, c)
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\nETag: \"x\"\r\n"+
				"Last-Modified: Mon, 02 Jan 2006 15:04:05 GMT\r\n\r\n")
			_, _ = io.WriteString(c, "some")
			_, _ = c.Read(make([]byte, 1)) // until it is cut
		}))
		began := time.Now()
		_, err := s.Get(t.Context(), "data/a", 0, -1)
		wasCut(t, began, err, silenceMax)
	})
}

func TestPut_isCutWhenTheServerReadsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := make(chan struct{})
		defer close(stop)
		s := opened(t, "server", "", pipe(func(c net.Conn) {
			readHead(t, c)
			<-stop
		}))
		began := time.Now()
		body := bytes.NewReader(make([]byte, 1<<20))
		err := s.Put(t.Context(), "data/a", body, body.Size())
		wasCut(t, began, err, silenceMax)
	})
}

func TestPut_isCutWhenNothingAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := opened(t, "server", "", pipe(func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }))
		began := time.Now()
		body := bytes.NewReader(make([]byte, bufferedRate))
		err := s.Put(t.Context(), "data/a", body, body.Size())
		wasCut(t, began, err, silenceMax+time.Second)
	})
}

// slowly is a body that its source holds back.
type slowly struct{ *strings.Reader }

func (s slowly) ReadAt(p []byte, at int64) (int, error) {
	time.Sleep(2 * silenceMax)
	return s.Reader.ReadAt(p, at)
}

func (s slowly) Unpaced() io.ReaderAt { return s.Reader }

// Neither a slow network nor a body that waits is a connection that is dead.
func TestRequests_mayBeSlow(t *testing.T) {
	const bodyBytes, pieceBytes = 100, 32 << 10
	synctest.Test(t, func(t *testing.T) {
		s := opened(t, "server", "", pipe(func(c net.Conn) {
			readHead(t, c)
			_, _ = fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\nETag: \"x\"\r\n"+
				"Last-Modified: Mon, 02 Jan 2006 15:04:05 GMT\r\n\r\n", bodyBytes)
			for range bodyBytes {
				time.Sleep(silenceMax - time.Second)
				_, _ = io.WriteString(c, "x")
			}
		}))
		got, err := s.Get(t.Context(), "data/a", 0, -1)
		if err != nil || len(got) != bodyBytes {
			t.Errorf("%d bytes: %v", len(got), err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		s := opened(t, "server", "", pipe(func(c net.Conn) {
			readHead(t, c)
			for range bodyBytes {
				time.Sleep(silenceMax - time.Second)
				_, _ = io.ReadFull(c, make([]byte, pieceBytes))
			}
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nETag: \"x\"\r\n\r\n")
		}))
		body := slowly{strings.NewReader(strings.Repeat("x", bodyBytes*pieceBytes))}
		if err := s.Put(t.Context(), "data/a", body, body.Size()); err != nil {
			t.Error(err)
		}
	})
}

// A link that carries little cuts nothing for ever, though the system takes all of a body at once.
func TestPut_succeedsOverALinkOf1KBASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := opened(t, "server", "", pipe(func(c net.Conn) {
			readHead(t, c)
			if _, err := io.CopyN(io.Discard, c, 64<<10); err != nil { // the system has it
				return
			}
			time.Sleep(64 * time.Second)
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nETag: \"x\"\r\n\r\n")
		}))
		body := bytes.NewReader(make([]byte, 64<<10))
		for tries := 1; ; tries++ {
			err := s.Put(t.Context(), "log/1", body, body.Size())
			if err == nil {
				break
			}
			if !errors.Is(err, errSilent) || tries > 6 {
				t.Fatalf("try %d: %v", tries, err)
			}
		}
		if err := s.Put(t.Context(), "log/2", body, body.Size()); err != nil {
			t.Errorf("the next one: %v", err)
		}
		<-time.After(time.Hour) // until what was cut has ended
	})
}

func TestLink_isFastAgain(t *testing.T) {
	l := newLink()
	l.learn(bufferedRate, 30<<10, true, 0) // a server hangs; the slowest link carries that in time
	if rate := l.rate.Load(); rate != bufferedRate {
		t.Errorf("a small one that was cut makes the rate %d", rate)
	}
	for range 20 {
		l.learn(l.rate.Load(), bufferedMax, true, 0)
	}
	if rate := l.rate.Load(); rate != slowestRate {
		t.Errorf("the rate is %d", rate)
	}
	l.learn(slowestRate, 100, false, time.Second)
	l.learn(slowestRate, bufferedMax, false, unseen(bufferedMax, slowestRate)-time.Second)
	l.learn(2*slowestRate, bufferedMax, false, time.Second) // one that began with another rate
	if rate := l.rate.Load(); rate != slowestRate {
		t.Errorf("a small one, or a slow one, makes the rate %d", rate)
	}
	for range 20 {
		l.learn(l.rate.Load(), bufferedMax, false, time.Second)
	}
	if rate := l.rate.Load(); rate != bufferedRate {
		t.Errorf("the rate is %d", rate)
	}
}

// meteredBody counts what is read for sending.
type meteredBody struct {
	*bytes.Reader
	sent int
}

func (b *meteredBody) ReadAt(p []byte, at int64) (int, error) {
	n, err := b.Reader.ReadAt(p, at)
	b.sent += n
	return n, err
}

func (b *meteredBody) Unpaced() io.ReaderAt { return b.Reader }

func TestPut_readsAPacedBodyOnce(t *testing.T) {
	s := newStore(t, nil)
	content := bytes.Repeat([]byte("0123456789"), 100_000)
	body := &meteredBody{Reader: bytes.NewReader(content)}
	if err := s.Put(t.Context(), "data/a", body, body.Size()); err != nil {
		t.Fatal(err)
	}
	if body.sent != len(content) {
		t.Errorf("%d of %d bytes were read", body.sent, len(content))
	}
	got, err := s.Get(t.Context(), "data/a", 0, -1)
	if err != nil || !bytes.Equal(got, content) {
		t.Errorf("%d bytes: %v", len(got), err)
	}
}

// Nothing depends on when an object was stored, so a server need not say it.
func TestGet_needsNoDate(t *testing.T) {
	for _, date := range []string{"", "Last-Modified: yesterday\r\n"} {
		synctest.Test(t, func(t *testing.T) {
			s := opened(t, "server", "", pipe(func(c net.Conn) {
				readHead(t, c)
				_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nETag: \"x\"\r\n"+date+
					"\r\nsome")
			}))
			got, err := s.Get(t.Context(), "data/a", 0, -1)
			if err != nil || string(got) != "some" {
				t.Errorf("with %q: %q, %v", date, got, err)
			}
		})
	}
}
