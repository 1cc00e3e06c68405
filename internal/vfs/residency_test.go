package vfs_test

import (
	"bytes"
	"testing"

	"github.com/stoatdb/stoat/internal/vfs"
)

// advise calls everything that there is to call about data.
func advise(data []byte) (resident bool) {
	resident = vfs.Resident(data)
	vfs.WillNeed(data)
	vfs.Populate(data)
	return resident
}

func TestResidency_isHarmlessForAnyMemory(t *testing.T) {
	heap := bytes.Repeat([]byte("content "), 50_000)
	want := bytes.Clone(heap)
	for _, part := range [][]byte{
		nil, {}, heap[:0], heap[7:8], heap[4097:], heap, heap[len(heap):],
	} {
		if !advise(part) {
			t.Errorf("%d bytes that were just written are not in memory", len(part))
		}
	}
	if !bytes.Equal(heap, want) {
		t.Error("the memory has changed")
	}
	advise(make([]byte, 1<<20)) // never touched, so the answer may be either
}

func TestProvide_changesNothing(t *testing.T) {
	heap := bytes.Repeat([]byte("content "), 50_000)
	want := bytes.Clone(heap)
	for _, part := range [][]byte{nil, heap[:0], heap[7:8], heap[4097:], heap, heap[len(heap):]} {
		vfs.Provide(part)
	}
	if !bytes.Equal(heap, want) {
		t.Error("the memory has changed")
	}
	fresh := make([]byte, 1<<20)
	vfs.Provide(fresh)
	if !bytes.Equal(fresh, make([]byte, 1<<20)) {
		t.Error("the memory is not zero")
	}
	if !vfs.Resident(fresh) {
		t.Skip("the system is too old to provide memory")
	}
}

func TestResidency_isHarmlessForMaps(t *testing.T) {
	everywhere(t, func(t *testing.T, s system) {
		content := string(bytes.Repeat([]byte("content "), 1000))
		data := mapped(t, create(t, s, "file", content), int64(len(content)))
		for _, part := range [][]byte{data[5000:5001], data[4096:], data, data[len(data):]} {
			advise(part)
		}
		if string(data) != content {
			t.Error("the content has changed")
		}
	})
}

func TestResidency_allocatesNothing(t *testing.T) {
	data := make([]byte, 10_000)
	if n := testing.AllocsPerRun(10, func() { advise(data) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
