package objectfs

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/testing/faultstore"
	"github.com/stoatdb/stoat/remote/memstore"
)

// TestFetch_leavesRoomInTheCache fetches files into a cache of 512 KiB.
func TestFetch_leavesRoomInTheCache(t *testing.T) {
	const size = 100 << 10
	client := faultstore.NewServer(memstore.New()).Client(nil)
	f := newFolder(t, client)
	passed, oldest := 0, uint64(1)
	pass := func(bytes int) error {
		passed += bytes
		return nil
	}
	needed := func(_ folder.Kind, number uint64) bool { return number >= oldest }
	fetch := func(number uint64) bool {
		t.Helper()
		name := folder.Table.Name(number)
		room, err := f.Fetch(t.Context(), client, nil, name, size, pass, needed)
		ok(t, err)
		return room
	}
	var files [][]byte
	for room := true; room && len(files) < 10; {
		number := uint64(len(files) + 1)
		files = append(files, put(t, client, folder.Table, number, size))
		room = fetch(number)
	}
	if len(files) != 4 || passed != 3*size {
		t.Fatalf("%d bytes of %d files were fetched", passed, len(files))
	}
	gets := client.Count(faultstore.Get)
	for i, want := range files[:3] {
		number, got := uint64(i+1), make([]byte, size)
		if !fetch(number) {
			t.Errorf("there is no room for file %d, which is there", number)
		}
		file, err := f.OpenSized(folder.Table.Name(number), size)
		ok(t, err)
		if _, err := file.ReadAt(got, 0); err != nil || !bytes.Equal(got, want) {
			t.Errorf("file %d is read as something else: %v", number, err)
		}
	}
	if n := client.Count(faultstore.Get) - gets; n > 0 {
		t.Errorf("what was fetched takes %d requests to read", n)
	}
	if oldest = 4; !fetch(4) {
		t.Error("files that nobody needs leave no room")
	}
}

func TestFetch_endsWithWhoLetsItThrough(t *testing.T) {
	client := faultstore.NewServer(memstore.New()).Client(nil)
	put(t, client, folder.Table, 1, 10)
	errBroken := errors.New("broken")
	refuse := func(int) error { return errBroken }
	f, name := newFolder(t, client), folder.Table.Name(1)
	_, err := f.Fetch(t.Context(), client, nil, name, 10, refuse, nil)
	if !errors.Is(err, errBroken) || client.Count(faultstore.Get) > 0 {
		t.Errorf("%d requests are made: %v", client.Count(faultstore.Get), err)
	}
}

// TestFetch_takesWhatIsHere has a file that the store lacks.
func TestFetch_takesWhatIsHere(t *testing.T) {
	client := faultstore.NewServer(memstore.New()).Client(nil)
	f, want := newFolder(t, client), bytes.Repeat([]byte("here"), 1000)
	pass := func(int) error { return nil }
	name, size := folder.Table.Name(1), int64(len(want))
	room, err := f.Fetch(t.Context(), client, bytes.NewReader(want), name, size, pass, nil)
	if ok(t, err); !room {
		t.Error("there is no room")
	}
	file, err := f.OpenSized(name, size)
	ok(t, err)
	got := make([]byte, size)
	if _, err := file.ReadAt(got, 0); err != nil || !bytes.Equal(got, want) || client.Count() > 0 {
		t.Errorf("it is read as something else, with %d requests: %v", client.Count(), err)
	}
	short, name := bytes.NewReader(want[1:]), folder.Table.Name(2)
	if _, err := f.Fetch(t.Context(), client, short, name, size, pass, nil); err == nil {
		t.Error("a file that is too short will do")
	}
}
