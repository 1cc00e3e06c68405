package main

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
)

// loopback is an address of this machine to listen at.
type loopback struct{ host, port string }

// parseListen returns the address that a text names, or an error if others could reach it.
func parseListen(text string) (*loopback, error) {
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		return nil, fmt.Errorf("-listen %s: %w", text, err)
	}
	ip, err := netip.ParseAddr(host)
	if (err != nil || !ip.IsLoopback()) && !strings.EqualFold(host, "localhost") {
		return nil, fmt.Errorf("-listen %s is not on the loopback interface, so others could see the "+
			"database: listen at 127.0.0.1:%s, and reach it from elsewhere through ssh -L", text, port)
	}
	return &loopback{host, port}, nil
}

// open listens.
func (l *loopback) open() (net.Listener, error) {
	listener, err := net.Listen("tcp", net.JoinHostPort(l.host, l.port))
	if err != nil {
		return nil, err
	}
	if at, ok := listener.Addr().(*net.TCPAddr); !ok || !at.IP.IsLoopback() {
		_ = listener.Close() // nobody has used it
		return nil, fmt.Errorf("%s is %s here, which is not on the loopback interface: listen at "+
			"127.0.0.1:%s", l.host, listener.Addr(), l.port)
	}
	return listener, nil
}
