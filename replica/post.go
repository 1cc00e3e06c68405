package replica

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"strconv"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/session"
)

// Requests and answers are files of [Export], limited in size and signed by devices.
const (
	postBytes = 4 << 20              // of runs in a request or an answer, about
	postLeast = 64 << 10             // the same, through a proxy that refuses larger requests
	postMax   = frameMax + postBytes // of a request or an answer
)

// PostOptions configures [Post].
type PostOptions struct {
	Client *http.Client // nil: http.DefaultClient
	// Peer is the device that must answer. Zero: any device at the URL.
	Peer DeviceID
}

// Post brings a replica together with a [Handler] at a URL, by a few requests of HTTP without any
// state between them: for programs that run now and then, and servers that live for a request. Two
// are enough if not much is missing. Everything that was accepted is durable, on both sides, when
// Post returns.
//
// The server answers only devices that may read the space, see [Space.MayRead], and is sent entries
// only if it may. Otherwise, the error is ErrNotAllowed. If one side lacks what the other one has
// pruned, it is ErrPruned: only [Sync] and [Import] start from a checkpoint. The first request says
// how much this replica has of each log, and which collections it holds, to whatever is at the URL.
//
// Requests and answers are signed by the devices. Within minutes, who has seen a request can repeat
// it, which has no effect, and get the answer; so use https.
func Post(ctx context.Context, s *Space, url string, opts *PostOptions) error {
	if opts == nil {
		opts = &PostOptions{}
	}
	if s.device == nil {
		return wrap(s.name, errNoDevice)
	}
	p := &poster{ctx: ctx, space: s, url: url, opts: opts, most: postBytes, server: opts.Peer}
	err := s.sealAll()
	if err == nil {
		err = p.run()
	}
	err = toWrite(unnamed(err))
	s.noteEnd(p.server, err)
	return wrap(s.name, err)
}

// poster is one call of Post.
type poster struct {
	ctx    context.Context
	space  *Space
	url    string
	opts   *PostOptions
	most   int      // bytes of runs in a request, about
	theirs *parcel  // what the server lacks; nil: not known yet
	server DeviceID // who has answered
	denied error    // why the server is given nothing, if it is not
}

// run asks until both sides have the same. Each request must bring something: entries from the
// server, or fewer that it lacks.
func (p *poster) run() error {
	var before Vector
	lacked := uint64(math.MaxUint64)
	for {
		refused, err := p.ask()
		if err != nil {
			return err
		}
		var mine Vector
		err = p.space.db.View(func(tx *stoat.Tx) (err error) {
			mine, err = p.space.wholeVector(tx)
			return err
		})
		if err != nil || maps.Equal(mine, p.theirs.since) {
			return errors.Join(refused, err)
		}
		lacks := p.theirs.since.lacks(mine)
		if lacks >= lacked && maps.Equal(mine, before) {
			return errors.Join(refused, p.denied) // what is left waits
		}
		before, lacked = mine, lacks
	}
}

// lacks returns how many entries of another vector are missing in this one.
func (v Vector) lacks(other Vector) (n uint64) {
	for id, entries := range other {
		n += entries - min(entries, v[id])
	}
	return n
}

// ask makes one request, and merges the answer. Refused is about entries that are not valid, here
// or there, and about files that come too early.
func (p *poster) ask() (refused, err error) {
	answer, signature, err := p.exchange()
	for err == nil && answer.StatusCode == http.StatusRequestEntityTooLarge && p.most > postLeast {
		p.most /= 2 // a proxy may take less than the server
		_ = answer.Body.Close()
		answer, signature, err = p.exchange()
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }() // it is read to its end, or of no use
	if answer.StatusCode != http.StatusOK {
		return nil, refusal(p.url, answer)
	}
	digest, err := p.verify(answer.Header, signature)
	if err != nil {
		return nil, err
	}
	in := newSignedBody(answer.Body, digest)
	in.left = postMax + 1
	body, err := io.ReadAll(in)
	if err == nil {
		err = in.end()
	}
	if err != nil {
		return nil, err
	}
	p.theirs, refused, err = p.space.unpack(p.ctx, body, p.server)
	if text := answer.Header.Get(headerRefused); text != "" {
		if plain, err := strconv.Unquote(text); err == nil {
			text = plain
		}
		refused = errors.Join(refused, fmt.Errorf("%w: %s: %q", ErrNotTaken, p.url, text))
	}
	return refused, err
}

// exchange sends a request, and returns the answer and the signature of the request.
func (p *poster) exchange() (*http.Response, []byte, error) {
	to, err := p.parcel()
	if err != nil {
		return nil, nil, err
	}
	body, err := p.space.packet(p.ctx, to)
	if err != nil {
		return nil, nil, err
	}
	request, signature, err := p.request(body)
	if err != nil {
		return nil, nil, err
	}
	client := p.opts.Client
	if client == nil {
		client = http.DefaultClient
	}
	answer, err := client.Do(request)
	return answer, signature, err
}

// parcel returns what to send: no runs before the server has proven who it is, nor if it may not
// read the space.
func (p *poster) parcel() (to *parcel, err error) {
	to = &parcel{to: &session.Reader{}}
	if p.theirs == nil {
		return to, nil
	}
	p.denied, err = endpoint{p.space}.MayRead(p.server)
	if err != nil || p.denied != nil {
		to.since = p.theirs.since
		return to, err
	}
	p.theirs.most = p.most
	return p.theirs, nil
}

// request returns a signed request, and its signature.
func (p *poster) request(body []byte) (*http.Request, []byte, error) {
	r, err := http.NewRequestWithContext(p.ctx, http.MethodPost, p.url, bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	now := p.space.time().UnixMilli()
	digest := sha256.Sum256(body)
	signature := ed25519.Sign(p.space.device.key, requestMessage(p.opts.Peer, now, digest))
	r.Header.Set("Content-Type", "application/octet-stream")
	r.Header.Set(headerDevice, p.space.device.ID().String())
	r.Header.Set(headerAudience, p.opts.Peer.String())
	r.Header.Set(headerTime, strconv.FormatInt(now, 10))
	r.Header.Set(headerDigest, hex.EncodeToString(digest[:]))
	r.Header.Set(headerSignature, hex.EncodeToString(signature))
	return r, signature, nil
}

// verify checks who has answered, and returns the digest of the answer.
func (p *poster) verify(h http.Header, request []byte) (digest [32]byte, err error) {
	id, err := ParseDeviceID(h.Get(headerDevice))
	if err != nil {
		return digest, fmt.Errorf("%s does not answer as a replica: %w", p.url, err)
	}
	if p.opts.Peer != (DeviceID{}) && id != p.opts.Peer {
		return digest, fmt.Errorf("%w: %s instead of %s", ErrPeerKey, id, p.opts.Peer)
	}
	if digest, err = digestOf(h); err == nil {
		err = checkSignature(h, id, answerMessage(request, digest))
	}
	if err == nil {
		p.server = id
	}
	return digest, err
}

// errPostPruned reports a replica that lacks what was pruned, and that requests cannot give it.
var errPostPruned = fmt.Errorf("one side lacks entries that the other one has pruned: bring them "+
	"together with Sync or a file of Export, which begin with the checkpoint: %w", ErrPruned)

// packet returns a file with what this replica has, and some of what somebody lacks.
func (s *Space) packet(ctx context.Context, p *parcel) ([]byte, error) {
	var body bytes.Buffer
	err := s.db.View(func(tx *stoat.Tx) error {
		t, err := s.in(tx)
		if err != nil {
			return err
		}
		return t.export(ctx, &body, p)
	})
	if errors.Is(err, ErrPruned) {
		err = errPostPruned
	}
	if err == nil {
		err = s.db.Sync() // before anything leaves
	}
	return body.Bytes(), err
}

// unpack merges what such a file of a device has, makes it durable, and returns what the other
// replica lacks. Refused is about entries that are not valid, and files that come too early.
func (s *Space) unpack(ctx context.Context, body []byte, from DeviceID) (
	lacks *parcel, refused, err error,
) {
	f, err := newFrameReader(bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	id, described, err := f.readAbout()
	if err != nil {
		return nil, nil, err
	}
	in := newIntake(ctx, s, f)
	in.from.Device = from
	return s.unpackBehind(in, id, described)
}

// unpackBehind is unpack behind the frame that says which space the file has.
func (s *Space) unpackBehind(in *intake, id entry.Hash, described []byte) (
	lacks *parcel, refused, err error,
) {
	err = in.runBehind(id, described)
	if errors.Is(err, ErrInvalid) || errors.Is(err, ErrMissing) || notTaken(err) ||
		errors.Is(err, errNoContent) {
		refused, err = err, nil
	}
	return &parcel{in.theirs, postBytes, &in.from}, refused, errors.Join(err, s.db.Sync())
}
