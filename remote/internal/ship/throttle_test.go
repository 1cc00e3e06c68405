package ship

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"
)

func TestThrottle_boundsTheRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit := &throttle{rate: 1 << 20}
		body := bytes.Repeat([]byte("0123456789abcdef"), 4<<16) // 4 MiB
		file := paced{t.Context(), bytes.NewReader(body), limit}
		start := time.Now()
		limit.charge(1 << 20) // of something that does not wait
		got, err := io.ReadAll(io.NewSectionReader(file, 0, int64(len(body))))
		if err != nil || !bytes.Equal(got, body) {
			t.Fatalf("%d bytes: %v", len(got), err)
		}
		took := time.Since(start)
		if least := 5*time.Second - time.Second/16; took < least || took > 5*time.Second {
			t.Errorf("5 MiB take %v at 1 MiB a second", took)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		limit.charge(1 << 30)
		if _, err := (paced{ctx, bytes.NewReader(body), limit}).ReadAt(body, 0); !errors.Is(err,
			context.Canceled) {
			t.Errorf("a reader whose context has ended gets %v", err)
		}
	})
}

func TestThrottle_withoutARateBoundsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		p := make([]byte, 10)
		n, err := (paced{t.Context(), bytes.NewReader(make([]byte, 20)), new(throttle)}).ReadAt(p, 10)
		if n != 10 || err != nil || time.Since(start) > 0 {
			t.Errorf("%d bytes after %v: %v", n, time.Since(start), err)
		}
	})
}
