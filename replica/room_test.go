package replica

import (
	"testing"
	"time"

	"github.com/stoatdb/stoat/replica/internal/entry"
)

// A device that sends runs that nobody can use takes its share of the room, and no more, whatever
// its sessions.
func TestAttack15_roomOfOthers(t *testing.T) {
	r := room{now: time.Now}
	number := uint64(0)
	add := func(session uint64, size int) (kept bool) {
		number++
		before := len(r.runs)
		waits := &run{log: entry.Hash{byte(number), byte(session)}, first: number, session: session,
			entries: [][]byte{make([]byte, size)}}
		of := source{device: DeviceID{byte(1 + session/100)}}
		r.add(waitingRun{run: waits, from: of, reason: errGap})
		return len(r.runs) > before
	}
	for i := range uint64(99) {
		for range 20 {
			add(i, 10)
		}
	}
	if n := len(r.runs); n != roomRuns/roomShare {
		t.Errorf("%d runs of one device", n)
	}
	if !add(100, 10) {
		t.Error("there is no room for another device")
	}
	for range 40 {
		add(200, roomLog-1000)
	}
	if n := r.bytes[source{device: DeviceID{3}}]; n > roomSpace/roomShare {
		t.Errorf("%d bytes of one device", n)
	}
	r.take(func(*waitingRun) bool { return true })
	if len(r.bytes)+len(r.counts) > 0 || r.size != 0 || !add(1, 10) {
		t.Error("what was taken out still counts")
	}
}
