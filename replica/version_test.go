package replica

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Where the other side speaks another version of the protocol only, both sides say so.
func TestDial_toAnotherVersion(t *testing.T) {
	a := newPeer(t, nil)
	v := a.serve()
	config, err := a.space.device.config()
	must(t, err)
	config.NextProtos = []string{"stoat-replica/2"}
	if conn, err := tls.Dial("tcp", v.addr, config); err == nil {
		_, err = conn.Read(make([]byte, 1)) // the alert
		if err == nil || !strings.Contains(err.Error(), "application protocol") {
			t.Errorf("the newer client: %v", err)
		}
		must(t, conn.Close())
	}
	if err := v.next(); err == nil || !strings.Contains(err.Error(), "stoat-replica/2") {
		t.Errorf("the server: %v", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer func() { _ = l.Close() }()
	heard := make(chan error, 1)
	go func() {
		conn, err := l.Accept()
		if err == nil {
			err = tls.Server(conn, config).Handshake()
			_ = conn.Close()
		}
		heard <- err
	}()
	_, err = Dial(t.Context(), l.Addr().String(), a.space.device, a.space.device.ID())
	if err == nil || !strings.Contains(err.Error(), "update") {
		t.Errorf("the older client: %v", err)
	}
	if err := <-heard; err == nil || !strings.Contains(err.Error(), protocolTLS) {
		t.Errorf("the newer server: %v", err)
	}
}

func TestDialHTTP_toAnotherVersion(t *testing.T) {
	a := newPeer(t, nil)
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set("Connection", "Upgrade")
	r.Header.Set("Upgrade", "stoat-replica-2")
	w := a.answerTo(r)
	if w.Code != http.StatusUpgradeRequired || !strings.Contains(w.Body.String(), protocolHTTP) {
		t.Errorf("the newer client: %d, %s", w.Code, w.Body)
	}
	newer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Upgrade", "stoat-replica-2")
		w.WriteHeader(http.StatusUpgradeRequired)
		_, _ = fmt.Fprint(w, "not for you")
	}))
	defer newer.Close()
	_, err := DialHTTP(t.Context(), newer.URL, nil)
	if err == nil || !strings.Contains(err.Error(), "stoat-replica-2") ||
		!strings.Contains(err.Error(), "update") {
		t.Errorf("the older client: %v", err)
	}
}
