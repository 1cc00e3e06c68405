package replica

import (
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/replica/internal/entry"
)

// What strangers do never displaces what is noted of others, and these share the room.
func TestRecent_isSharedByItsSources(t *testing.T) {
	var r recent[int]
	stranger := source{stranger: true}
	for i := range 2 * recentMax {
		r.add(stranger, i)
	}
	if got := r.list(); len(got) != recentMax || got[0] != recentMax {
		t.Errorf("the last of strangers are %v", got)
	}
	for i := range recentMax {
		r.add(source{device: DeviceID{1}}, 1000+i)
	}
	r.add(stranger, 0)
	if got := r.list(); len(got) != recentMax || got[0] != 1000 {
		t.Errorf("strangers displace others: %v", got)
	}
	for i := range 3 * recentMax {
		r.add(source{device: DeviceID{2}}, 2000+i)
	}
	if got := r.list(); len(got) != recentMax || got[0] != 1000+recentMax/2+1 {
		t.Errorf("one device displaces another one: %v", got)
	}
}

// flood has so many devices without a grant do something, each once.
func (p *peer) flood(of *peer, n int, do func(stranger *peer)) {
	for i := range n {
		stranger := newGuestAfter(p.t, of, i)
		do(stranger)
		stranger.close()
	}
}

// Strangers cannot hide the failures and refusals of members, over any connection.
func TestStatus_keepsWhatIsOfMembersFromStrangers(t *testing.T) {
	server := newPeer(t, nil)
	member := newPeer(t, server)
	member.put(task{ID: 1})
	runs := member.runs(0)
	runs[0].seal[3]++
	runs[0].from = member.space.device.ID()
	if err := server.space.apply(runs); !errors.Is(err, ErrInvalid) {
		t.Fatal(err)
	}
	meet(t, server, member)
	server.space.noteEnd(member.space.device.ID(), ErrEnded)
	web := server.web(nil)
	server.flood(server, recentMax+8, func(stranger *peer) {
		x, y := net.Pipe()
		go func() { _ = Accept(t.Context(), []*Space{server.space}, x, nil) }()
		_ = Sync(t.Context(), stranger.space, y, once)
		_ = Post(t.Context(), stranger.space, web.URL, nil)
		server.space.noteEnd(stranger.space.device.ID(), ErrEnded)
	})
	st := server.status()
	if len(st.Refusals) != recentMax || len(st.Failures) != recentMax {
		t.Errorf("%d refusals and %d failures", len(st.Refusals), len(st.Failures))
	}
	if f := st.Refusals[0]; f.Log != member.logID() || !errors.Is(f.Reason, ErrInvalid) {
		t.Errorf("the refusal of the member's entry is hidden by %+v", f)
	}
	if f := st.Failures[0]; f.Device != member.space.device.ID() {
		t.Errorf("the failure of the member is hidden by %+v", f)
	}
}

// All devices without a grant have one share of the room.
func TestRoom_ofStrangersIsOneShare(t *testing.T) {
	server := newPeer(t, nil)
	meet(t, server, newPeer(t, server)) // it knows who has rights
	server.space.mu.Lock()
	defer server.space.mu.Unlock()
	for i := range roomRuns {
		server.space.keepWaiting([]waitingRun{{reason: errGap, run: &run{first: 1,
			log: entry.Hash{byte(i), byte(i >> 8)}, from: DeviceID{byte(i), byte(i >> 8), 1}}}})
	}
	if n := len(server.space.room.runs); n != roomRuns/roomShare {
		t.Errorf("strangers have %d runs", n)
	}
}

// A server that only says that it is another device changes nothing of what is noted of that.
func TestPost_notesNothingOfWhoDoesNotProveWhoItIs(t *testing.T) {
	server := newPeer(t, nil)
	a := newPeer(t, server)
	victim := newPeer(t, server).space.device.ID()
	a.space.noteEnd(victim, ErrEnded)
	web := server.web(nil)
	liar := &alter{answer: func(r *http.Response, p []byte) []byte {
		r.Header.Set(headerDevice, victim.String())
		return p
	}}
	err := Post(t.Context(), a.space, web.URL, &PostOptions{Client: &http.Client{Transport: liar}})
	if !errors.Is(err, ErrInvalid) {
		t.Errorf("got %v", err)
	}
	for _, f := range a.status().Failures {
		if f.Device == victim && !errors.Is(f.Reason, ErrEnded) {
			t.Errorf("it is said of the other device: %v", f.Reason)
		}
	}
}

// What a request lacks because the connection broke tells no addresses.
func TestToldOf_hasNoAddresses(t *testing.T) {
	err := &net.OpError{Op: "read", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(10, 1, 2, 3)},
		Err: io.ErrUnexpectedEOF}
	if told := toldOf(errors.Join(err)); strings.Contains(told, "10.1") {
		t.Errorf("told %q", told)
	}
}
