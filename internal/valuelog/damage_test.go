package valuelog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/stoatdb/stoat/internal/checksum"
	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/fileheader"
)

// damaged reports whether err is one that damage may cause.
func damaged(err error) bool {
	return errors.Is(err, corrupt.Err) || errors.Is(err, corrupt.ErrFormat)
}

// smallFile returns values, pointers to them, and their value file.
func smallFile(t testing.TB) (values [][]byte, ps []Pointer, image []byte) {
	t.Helper()
	values = [][]byte{valueOf(1, 20), {}, valueOf(2, 1500), valueOf(3, 1), valueOf(4, 1024)}
	fs, path := inMemory(t)
	ps, _ = writeValues(t, fs, path, values)
	return values, ps, imageOf(t, fs, path)
}

// checkRightOrDamaged reads everything twice and fails the test unless each answer is right or
// reports damage. It returns whether all were right.
func checkRightOrDamaged(t testing.TB, f *File, ps []Pointer, values [][]byte, what string) bool {
	t.Helper()
	right := true
	for range 2 {
		f.Prefetch(ps)
		for i, p := range ps {
			got, err := f.Read(p)
			switch {
			case err != nil && damaged(err):
				right = false
			case err != nil || !bytes.Equal(got, values[i]):
				t.Fatalf("%s: value %d is %.40q, %v", what, i, got, err)
			}
		}
	}
	return right
}

func TestFile_noticesEveryFlippedByte(t *testing.T) {
	values, ps, image := smallFile(t)
	for _, maps := range []bool{true, false} {
		file := fileOf(t, image, int64(len(image)), maps)
		if !checkRightOrDamaged(t, file, ps, values, "undamaged") {
			t.Fatal("the undamaged file is damaged")
		}
		for at := range image {
			flip := []byte{0x01, 0x80, 0xFF}[at%3]
			image[at] ^= flip
			file := fileOf(t, image, int64(len(image)), maps)
			if checkRightOrDamaged(t, file, ps, values, fmt.Sprint("flipped byte ", at)) {
				t.Errorf("flipping byte %d of %d goes unnoticed", at, len(image))
			}
			image[at] ^= flip
		}
	}
}

func TestFile_noticesEveryTruncation(t *testing.T) {
	values, ps, image := smallFile(t)
	for n := range image {
		for _, size := range []int64{int64(n), int64(len(image))} {
			file := fileOf(t, image[:n], size, n%2 == 0)
			if checkRightOrDamaged(t, file, ps, values, fmt.Sprint("truncation to ", n)) {
				t.Errorf("a file of %d of %d bytes, expected %d, is read", n, len(image), size)
			}
		}
	}
}

func TestOpen_refusesALogSegmentThatIsTooShort(t *testing.T) {
	_, _, image := smallFile(t)
	for _, size := range []int64{int64(len(image)) + 1, math.MaxInt64, -1} {
		file := fileOf(t, image, size, true)
		file.config.Log = true
		wantDamage(t, file.Open(), 0)
	}
}

func TestOpen_refusesAnotherFile(t *testing.T) {
	_, _, image := smallFile(t)
	open := func(change func(c *Config)) error {
		file := fileOf(t, image, int64(len(image)), true)
		change(&file.config)
		return file.Open()
	}
	wantDamage(t, open(func(c *Config) { c.Number++ }), 0)
	wantDamage(t, open(func(c *Config) { c.Database[15]++ }), 0)
	wantDamage(t, open(func(c *Config) { c.Size++ }), 0)
	wantDamage(t, open(func(c *Config) { c.Size-- }), 0)
	reseal := func() { binary.LittleEndian.PutUint32(image[44:], checksum.Of(image[:44])) }
	image[8]++
	reseal()
	if err := open(func(*Config) {}); !errors.Is(err, corrupt.ErrFormat) {
		t.Errorf("a newer version: %v", err)
	}
	image[8]--
	copy(image, "STOATTAB")
	reseal()
	if err := open(func(*Config) {}); !errors.Is(err, corrupt.ErrFormat) {
		t.Errorf("a table: %v", err)
	}
}

func TestOpen_reportsAMissingFile(t *testing.T) {
	for _, log := range []bool{true, false} {
		fs, path := inMemory(t)
		c := config(fs, path, 100)
		c.Log = log
		file := New(c)
		wantDamage(t, file.Open(), 0)
		_, err := file.Read(Pointer{File: 7, Offset: 48})
		wantDamage(t, err, 0)
		file.Prefetch([]Pointer{{File: 7, Offset: 48}})
	}
}

func TestRead_namesFileAndOffsetOfDamage(t *testing.T) {
	for _, maps := range []bool{true, false} {
		values, ps, image := smallFile(t)
		image[ps[2].Offset+77] ^= 1
		file := fileOf(t, image, int64(len(image)), maps)
		for range 2 {
			_, err := file.Read(ps[2])
			wantDamage(t, err, int64(ps[2].Offset))
		}
		ps[2] = ps[0] // the others are as they were
		values[2] = values[0]
		wantValues(t, file, ps, values)
	}
}

func TestRead_refusesPointersToElsewhere(t *testing.T) {
	_, ps, image := smallFile(t)
	size := uint64(len(image))
	for _, maps := range []bool{true, false} {
		file := fileOf(t, image, int64(size), maps)
		for _, p := range []Pointer{
			{File: 7, Offset: size, Length: 1},
			{File: 7, Offset: size - 1, Length: 2},
			{File: 7, Offset: size + 1},
			{File: 7, Offset: math.MaxInt64},
			{File: 7, Offset: math.MaxUint64, Length: 2},
			{File: 7, Offset: 100, Length: math.MaxUint32},
			{File: 7},
			NewPointer(7, fileheader.Size-1, image[fileheader.Size-1:fileheader.Size+9]),
			{File: 8, Offset: ps[0].Offset, Length: ps[0].Length, Checksum: ps[0].Checksum},
		} {
			file.Prefetch([]Pointer{p, ps[0], p})
			_, err := file.Read(p)
			wantDamage(t, err, int64(p.Offset))
		}
	}
}
