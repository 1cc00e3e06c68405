package replica

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math/big"
	"net"
	"strings"
	"time"
)

// Conn is an encrypted connection between two devices that have both proved that they have their
// keys: TLS 1.3 with self-signed certificates. It is safe for concurrent use as a [net.Conn] is.
type Conn struct {
	*tls.Conn
	peer    DeviceID
	binding [32]byte
}

// Peer returns the device at the other end.
func (c *Conn) Peer() DeviceID { return c.peer }

// Binding returns a value that only the two ends of this connection know. A session that signs it
// cannot be relayed over another connection.
func (c *Conn) Binding() [32]byte { return c.binding }

const (
	protocolTLS = "stoat-replica/1" // ALPN
	exporterTLS = "EXPORTER-stoat-replica"

	// handshakeMax is how long a peer may take to say who it is, and which space it wants.
	handshakeMax = 10 * time.Second
)

// Dial connects, as a device, to another one that serves spaces with [Serve] at a TCP address. The
// error is [ErrPeerKey] if another device answers. The caller passes the connection to [Sync],
// which binds the session to it.
func Dial(ctx context.Context, addr string, device *Device, peer DeviceID) (*Conn, error) {
	if err := device.check(); err != nil {
		return nil, err
	}
	raw, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	conn, err := secure(ctx, raw, device, peer)
	if err != nil {
		_ = raw.Close()
		return nil, fmt.Errorf("connect to %s: %w", addr, err)
	}
	return conn, nil
}

// secure shakes hands with a server, which must be a certain device.
func secure(ctx context.Context, raw net.Conn, device *Device, peer DeviceID) (*Conn, error) {
	config, err := device.config()
	if err != nil {
		return nil, err
	}
	config.VerifyConnection = func(state tls.ConnectionState) error {
		id, err := deviceOf(&state)
		if err == nil && id != peer {
			err = fmt.Errorf("%w: %s instead of %s", ErrPeerKey, id, peer)
		}
		return err
	}
	return shake(ctx, tls.Client(raw, config))
}

// config returns what both sides of a connection have in common. The key of the device is its
// certificate; nobody but the peer vouches for it.
func (d *Device) config() (*tls.Config, error) {
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Unix(0, 0),
		NotAfter: time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, d.key.Public(), d.key)
	if err != nil {
		return nil, fmt.Errorf("make the certificate of the device: %w", err)
	}
	return &tls.Config{
		MinVersion:             tls.VersionTLS13,
		Certificates:           []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: d.key}},
		NextProtos:             []string{protocolTLS},
		ClientAuth:             tls.RequireAnyClientCert,
		InsecureSkipVerify:     true, // VerifyConnection compares the key itself
		SessionTicketsDisabled: true,
	}, nil
}

// deviceOf returns the device that the peer of a connection has proved to be.
func deviceOf(state *tls.ConnectionState) (id DeviceID, err error) {
	if state.NegotiatedProtocol != protocolTLS {
		return id, errors.New("the peer does not speak this protocol: is the address right?")
	}
	if len(state.PeerCertificates) != 1 {
		return id, errors.New("the peer has no certificate, or a chain")
	}
	key, ok := state.PeerCertificates[0].PublicKey.(ed25519.PublicKey)
	if !ok {
		return id, errors.New("the certificate of the peer is not the key of a device")
	}
	return DeviceID(key), nil
}

// shake completes a connection.
func shake(ctx context.Context, conn *tls.Conn) (*Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, handshakeMax)
	defer cancel()
	if err := conn.HandshakeContext(ctx); err != nil {
		return nil, adviseTLS(err)
	}
	state := conn.ConnectionState()
	c := &Conn{Conn: conn}
	var err error
	if c.peer, err = deviceOf(&state); err != nil {
		return nil, err
	}
	binding, err := state.ExportKeyingMaterial(exporterTLS, nil, len(c.binding))
	copy(c.binding[:], binding)
	return c, err
}

// adviseTLS adds to the error of a handshake what to do if the sides speak different versions.
func adviseTLS(err error) error {
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "remote error" &&
		strings.Contains(op.Err.Error(), "no application protocol") {
		return fmt.Errorf("%w: the peer does not speak %s: update the side that is older", err,
			protocolTLS)
	}
	return err
}
