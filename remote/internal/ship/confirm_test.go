package ship

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stoatdb/stoat/internal/testing/faultstore"
)

// TestConfirm_goesOnWithTheWriter holds back the request of a proof until the writer has forgotten
// which object it made of that number.
func TestConfirm_goesOnWithTheWriter(t *testing.T) {
	var armed atomic.Bool
	asked, release := make(chan struct{}), make(chan struct{})
	s, e, _ := startedWith(t, func(r faultstore.Request) faultstore.Fate {
		isLog := r.Op == faultstore.Get && strings.HasPrefix(r.Name, "log/")
		if isLog && armed.CompareAndSwap(true, false) {
			close(asked)
			<-release
		}
		return faultstore.Answered
	})
	ok(t, put(e, "first"))
	armed.Store(true)
	result := make(chan error, 1)
	go func() { result <- s.Confirm(t.Context()) }()
	<-asked
	for i := range 65 {
		ok(t, put(e, fmt.Sprint(i)))
	}
	close(release)
	ok(t, <-result)
}
