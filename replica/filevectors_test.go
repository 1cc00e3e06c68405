package replica

import (
	"bytes"
	"context"
	"encoding/hex"
	"net/http"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/golden"
	"github.com/stoatdb/stoat/replica/internal/session"
)

// The test vectors of files and requests, see docs/replica-format.md. All bytes are in hexadecimal.
type fileVectors struct {
	Files   []fileVector
	Request requestVector
	Answer  answerVector
}

// fileVector is a file, and the state of a new replica that has imported it.
type fileVector struct {
	What   string
	Frames []fileFrame
	Bytes  string
	Root   string // empty: of a request
}

// fileFrame is a frame of a file.
type fileFrame struct {
	Type     byte
	Content  string
	Checksum string
}

// requestVector is the headers of a request, and what its signature signs.
type requestVector struct {
	Headers map[string]string
	Body    string
	Signed  string
}

// answerVector is what the signature of an answer signs that answers the request with its own body.
type answerVector struct{ Signed string }

// newFileVector takes a file apart.
func newFileVector(t *testing.T, what string, file []byte) fileVector {
	t.Helper()
	v := fileVector{What: what, Bytes: hex.EncodeToString(file)}
	f, err := newFrameReader(bytes.NewReader(file))
	must(t, err)
	for kind := byte(0); kind != fileEnd; {
		var p []byte
		kind, p, err = f.read()
		must(t, err)
		v.Frames = append(v.Frames, fileFrame{kind, hex.EncodeToString(p),
			hex.EncodeToString(f.chain[:fileCheck])})
	}
	return v
}

// newFileVectors makes a space with a fork, a checkpoint and a partial replica. Its only root has
// the seed 01 and zeros.
func newFileVectors(t *testing.T) *fileVectors {
	t.Helper()
	a := newPeerOf(t, nil, nil, 1)
	v := &fileVectors{}
	add := func(what string, of *peer) {
		file := of.export(nil)
		one := newFileVector(t, what, file)
		one.Root = hex.EncodeToString(importedRoot(t, of, file))
		v.Files = append(v.Files, one)
	}
	a.put(task{ID: 1, Title: "milk", Votes: 2, Tags: []string{"cold"}})
	a.allow()
	add("all entries", a)
	f := newForger(a)
	f.add(data(1, "both"))
	a.take(f.begin())
	g := f.fork()
	f.add(data(2, "to one peer"))
	g.add(data(3, "to another"))
	a.take(f.run)
	a.take(g.run)
	add("a log that has forked", a)

	b := newPeerOf(t, nil, nil, 1)
	b.put(task{ID: 1, Title: "milk", Votes: 2})
	b.put(task{ID: 2, Votes: 3})
	b.allow()
	b.update(func(tx *stoat.Tx) error { return b.tasks.Delete(tx, int64(2)) })
	must(t, b.checkpoint())
	must(t, b.space.Seal())
	must(t, b.space.Prune())
	b.put(task{ID: 3, Title: "after the checkpoint"})
	add("a checkpoint, and what came after it", b)

	d := newPeerOf(t, nil, nil, 1)
	d.put(task{ID: 1, Title: "milk"})
	d.grant(newGuest(t, d), Write)
	d.grant(newGuest(t, d), Relay)
	must(t, d.checkpoint())
	must(t, d.space.Seal())
	must(t, d.space.Prune())
	add("a checkpoint with salts", d)

	c := newGuest(t, b)
	c.reopen([]string{"lists", "tasks"})
	body, err := c.space.packet(context.Background(), &parcel{to: &session.Reader{}})
	must(t, err)
	v.Files = append(v.Files, newFileVector(t, "the body of a request of a partial replica", body))
	v.Request, v.Answer = newRequestVector(t, c, b, body)
	return v
}

// importedRoot returns the root of a new replica that has imported a file.
func importedRoot(t *testing.T, of *peer, file []byte) []byte {
	t.Helper()
	p := newPeer(t, of)
	must(t, p.load(file))
	root := p.root()
	return root[:]
}

// newRequestVector returns a request of one replica to another.
func newRequestVector(t *testing.T, from, to *peer, body []byte) (requestVector, answerVector) {
	t.Helper()
	p := &poster{ctx: t.Context(), space: from.space, url: "/",
		opts: &PostOptions{Peer: to.space.device.ID()}}
	r, signature, err := p.request(body)
	must(t, err)
	v := requestVector{Headers: map[string]string{}, Body: hex.EncodeToString(body)}
	for name := range r.Header {
		v.Headers[http.CanonicalHeaderKey(name)] = r.Header.Get(name)
	}
	signed, err := parseRequest(r.Header)
	must(t, err)
	v.Signed = hex.EncodeToString(requestMessage(signed.audience, from.now.UnixMilli(), signed.digest))
	return v, answerVector{hex.EncodeToString(answerMessage(signature, signed.digest))}
}

func TestFileVectors_areWhatThePackageMakes(t *testing.T) {
	golden.Compare(t, "files.json", newFileVectors(t))
}

// Each type of frame of files is in the vectors.
func TestFileVectors_haveEveryFrame(t *testing.T) {
	var v fileVectors
	golden.Read(t, "files.json", &v)
	has := map[byte]bool{}
	for _, f := range v.Files {
		for _, frame := range f.Frames {
			has[frame.Type] = true
		}
	}
	for kind := fileSpace; kind <= fileHolds; kind++ {
		if !has[kind] {
			t.Errorf("there is no vector of a frame of type %d", kind)
		}
	}
	if len(has) != int(fileHolds) {
		t.Errorf("there are vectors of types %v", has)
	}
}
