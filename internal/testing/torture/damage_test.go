package torture

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/stoatdb/stoat/internal/corrupt"
)

// The nouns of the counts.
const (
	flippedBytes = "flipped bytes"
	cutLengths   = "cut lengths"
	damagedFiles = "damaged files"
)

// kindsOfDamage are all ways to damage a sample. The last one uses offsets that the others found.
var kindsOfDamage = []func(d *corruptor){
	(*corruptor).flipBytes, (*corruptor).cutFiles, (*corruptor).removeFiles,
	(*corruptor).duplicateFiles, (*corruptor).swapFiles, (*corruptor).appendGarbage,
	(*corruptor).zeroSectors, (*corruptor).swapPieces, (*corruptor).swapUnits,
}

// names returns the names of the sample's files, sorted.
func (d *corruptor) names() []string { return slices.Sorted(maps.Keys(d.files)) }

func (d *corruptor) flipBytes() {
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

func (d *corruptor) cutFiles() {
	for _, name := range d.names() {
		data := d.files[name]
		for size := d.rng.IntN(*corruptEvery); size < len(data); size += *corruptEvery {
			d.damage(cutLengths, fmt.Sprintf("%s: cut to %d bytes of %d", name, size, len(data)),
				images{name: data[:size:size]})
		}
	}
}

func (d *corruptor) removeFiles() {
	for _, name := range d.names() {
		d.damage(damagedFiles, name+": removed", images{name: nil})
	}
}

// duplicateFiles copies files to unused names, with higher and lower numbers, of all kinds.
func (d *corruptor) duplicateFiles() {
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

// swapFiles swaps each pair of files, and replaces each file by each other.
func (d *corruptor) swapFiles() {
	names := d.names()
	for i, a := range names {
		for _, b := range names[:i] {
			d.damage(damagedFiles, a+" and "+b+": swapped", images{a: d.files[b], b: d.files[a]})
			d.damage(damagedFiles, a+": in the place of "+b, images{b: d.files[a]})
			d.damage(damagedFiles, b+": in the place of "+a, images{a: d.files[b]})
		}
	}
}

func (d *corruptor) appendGarbage() {
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

func (d *corruptor) zeroSectors() {
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
func (d *corruptor) swapPieces() {
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

// swapUnits swaps two blocks or values of a file, whose offsets errors have named.
func (d *corruptor) swapUnits() {
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

// swapWithin swaps the bytes [a, b) of a file with the later bytes [c, e).
func (d *corruptor) swapWithin(name string, a, b, c, e int64) {
	data := d.files[name]
	if a >= b || b > c || c >= e || e > int64(len(data)) {
		return
	}
	swapped := slices.Concat(data[:a], data[c:e], data[b:c], data[a:b], data[e:])
	what := fmt.Sprintf("%s: bytes %d to %d and %d to %d swapped", name, a, b, c, e)
	d.damage(damagedFiles, what, images{name: swapped})
}

// note records the offset of a unit of a file.
func (d *corruptor) note(place *corrupt.Error) {
	key := d.name + "/" + filepath.Base(place.File)
	if !slices.Contains(d.units[key], place.Offset) {
		d.units[key] = append(d.units[key], place.Offset)
	}
}
