package torture

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/testing/model"
)

// What is counted.
const (
	flippedBytes = "flipped bytes"
	cutLengths   = "cut lengths"
	damagedFiles = "damaged files"
)

// kindsOfDamage are all ways to damage a sample. The last needs what was learned by those before.
var kindsOfDamage = []func(d *drill){
	(*drill).flipBytes, (*drill).cutFiles, (*drill).removeFiles, (*drill).duplicateFiles,
	(*drill).swapFiles, (*drill).appendGarbage, (*drill).zeroSectors, (*drill).swapPieces,
	(*drill).swapUnits,
}

// names returns the names of the sample's files in order.
func (d *drill) names() []string { return slices.Sorted(maps.Keys(d.files)) }

func (d *drill) flipBytes() {
	for _, name := range d.names() {
		data := d.files[name]
		for at := d.rng.IntN(*corruptEvery); at < len(data); at += *corruptEvery {
			first := d.rng.IntN(8)
			for i := range *corruptBits {
				flipped := slices.Clone(data)
				flipped[at] ^= 1 << ((first + i) % 8)
				d.damage(flippedBytes, fmt.Sprintf("%s: byte %d is %02x, was %02x", name, at,
					flipped[at], data[at]), images{name: flipped})
			}
		}
	}
}

func (d *drill) cutFiles() {
	for _, name := range d.names() {
		data := d.files[name]
		for size := d.rng.IntN(*corruptEvery); size < len(data); size += *corruptEvery {
			d.damage(cutLengths, fmt.Sprintf("%s: cut to %d bytes of %d", name, size, len(data)),
				images{name: data[:size:size]})
		}
	}
}

func (d *drill) removeFiles() {
	for _, name := range d.names() {
		d.damage(damagedFiles, name+": removed", images{name: nil})
	}
}

// duplicateFiles copies files to names that are free, higher and lower, of the same kind and of
// others.
func (d *drill) duplicateFiles() {
	var others []string
	for _, form := range []string{"MANIFEST-%06d", "%06d.log", "%06d.table", "%06d.values"} {
		others = append(others, fmt.Sprintf(form, 1), fmt.Sprintf(form, 999))
	}
	for _, name := range d.names() {
		for _, other := range others {
			if d.files[other] == nil {
				d.damage(damagedFiles, name+": also as "+other, images{other: d.files[name]})
			}
		}
	}
}

// swapFiles swaps any two files, and puts one in the place of another.
func (d *drill) swapFiles() {
	names := d.names()
	for i, a := range names {
		for _, b := range names[:i] {
			d.damage(damagedFiles, a+" and "+b+": swapped", images{a: d.files[b], b: d.files[a]})
			d.damage(damagedFiles, a+": in the place of "+b, images{b: d.files[a]})
			d.damage(damagedFiles, b+": in the place of "+a, images{a: d.files[b]})
		}
	}
}

func (d *drill) appendGarbage() {
	for _, name := range d.names() {
		garbage := make([]byte, 1+d.rng.IntN(200))
		for i := range garbage {
			garbage[i] = byte(d.rng.Uint32())
		}
		for _, more := range [][]byte{garbage, make([]byte, 600), d.files[name]} {
			d.damage(damagedFiles, fmt.Sprintf("%s: %d bytes appended", name, len(more)),
				images{name: slices.Concat(d.files[name], more)})
		}
	}
}

func (d *drill) zeroSectors() {
	const sector = 512
	for _, name := range d.names() {
		for at := 0; at < len(d.files[name]); at += sector {
			zeroed := slices.Clone(d.files[name])
			clear(zeroed[at:min(at+sector, len(zeroed))])
			d.damage(damagedFiles, fmt.Sprintf("%s: sector at %d is zero", name, at),
				images{name: zeroed})
		}
	}
}

// swapPieces swaps two pieces of 64 bytes in a file.
func (d *drill) swapPieces() {
	const piece = 64
	for _, name := range d.names() {
		data := d.files[name]
		pieces := len(data) / piece
		for range min(pieces*(pieces-1)/2, 20) {
			i, j := d.rng.IntN(pieces), d.rng.IntN(pieces)
			d.swapWithin(name, int64(min(i, j)*piece), int64(min(i, j)*piece+piece),
				int64(max(i, j)*piece), int64(max(i, j)*piece+piece))
		}
	}
}

// swapUnits swaps two blocks or values in a file, which errors have told of.
func (d *drill) swapUnits() {
	for _, name := range d.names() {
		units := append(d.units[d.name+"/"+name], int64(len(d.files[name])))
		slices.Sort(units)
		units = slices.Compact(units)
		for i := 1; i < len(units); i++ {
			for j := i + 1; j < len(units); j++ {
				d.swapWithin(name, units[i-1], units[i], units[j-1], units[j])
			}
		}
	}
}

// swapWithin swaps the bytes [a, b) of a file and those of [c, e), which lie behind.
func (d *drill) swapWithin(name string, a, b, c, e int64) {
	data := d.files[name]
	if a >= b || b > c || c >= e || e > int64(len(data)) {
		return
	}
	swapped := slices.Concat(data[:a], data[c:e], data[b:c], data[a:b], data[e:])
	what := fmt.Sprintf("%s: bytes %d to %d and %d to %d swapped", name, a, b, c, e)
	d.damage(damagedFiles, what, images{name: swapped})
}

// note keeps the place of a unit of a file.
func (d *drill) note(place *corrupt.Error) {
	key := d.name + "/" + filepath.Base(place.File)
	if !slices.Contains(d.units[key], place.Offset) {
		d.units[key] = append(d.units[key], place.Offset)
	}
}

// reading reads a whole database in all ways and compares it with a state.
type reading struct {
	*drill
	db      *stoat.DB
	damaged error // the first error that says what is damaged
	wrong   error // the first thing that must not be
}

// bucket reads the bucket at a path.
func (r *reading) bucket(path string, want *model.Bucket) {
	entries := want.Scan("", "", false, 0)
	r.scan(path, entries, false)
	backward := slices.Clone(entries)
	slices.Reverse(backward)
	r.scan(path, backward, true)
	for _, e := range entries {
		r.get(path, e.Key, e.Value, true)
		if _, known := want.Get(e.Key + "\x00"); !known {
			r.get(path, e.Key+"\x00", "", false)
		}
	}
	r.get(path, "nothing", "", false)
	r.view(path, "sequence", func(s space) error {
		n, err := s.sequence()
		return r.agree(n == want.Sequence(), err)
	})
	r.view(path, "buckets", func(s space) error {
		names, err := s.buckets()
		return r.agree(slices.Equal(names, want.Buckets()), err)
	})
	for _, name := range want.Buckets() {
		r.bucket(strings.TrimPrefix(path+"/"+name, "/"), want.Bucket(name))
	}
}

// errWrong is what a read returns that has not found what it should.
var errWrong = errors.New("wrong data")

// agree returns err, or errWrong unless right.
func (r *reading) agree(right bool, err error) error {
	if err == nil && !right {
		return errWrong
	}
	return err
}

// view does one read in a transaction of its own.
func (r *reading) view(path, what string, fn func(s space) error) {
	if r.wrong != nil {
		return
	}
	err := r.db.View(func(tx *stoat.Tx) error {
		s, err := transaction{tx}.space(path)
		if err != nil {
			return err
		}
		return fn(s)
	})
	bad := err
	if !errors.Is(err, errWrong) {
		bad = r.judge(err)
	}
	if bad != nil {
		r.wrong = fmt.Errorf("%s in bucket %q: %w", what, path, bad)
	} else if r.damaged == nil {
		r.damaged = err
	}
}

// scan reads keys with and without values. What comes before an error must be right, too.
func (r *reading) scan(path string, want []model.Entry, reverse bool) {
	rng := stoat.Range{Reverse: reverse}
	r.view(path, "scan", func(s space) error {
		got, err := s.scan(rng)
		if len(got) > len(want) || !slices.Equal(got, want[:len(got)]) {
			return errWrong
		}
		return r.agree(len(got) == len(want), err)
	})
	r.view(path, "keys", func(s space) error {
		got, err := s.keys(rng)
		for i, key := range got {
			if i == len(want) || want[i].Key != key {
				return errWrong
			}
		}
		return r.agree(len(got) == len(want), err)
	})
}

// get looks a key up that is there or not.
func (r *reading) get(path, key, want string, there bool) {
	r.view(path, fmt.Sprintf("get %.40q", key), func(s space) error {
		value, err := s.get(key)
		if errors.Is(err, stoat.ErrNotFound) {
			return r.agree(!there, nil)
		}
		return r.agree(there && value == want, err)
	})
	r.view(path, fmt.Sprintf("has %.40q", key), func(s space) error {
		has, err := s.has(key)
		return r.agree(has == there, err)
	})
}
