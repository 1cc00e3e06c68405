package studio

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/stoatdb/stoat"
)

const (
	placeShown = 200  // bytes of a key
	walkMost   = 5000 // buckets that are looked at to find the names of those wanted
	walkTime   = 200 * time.Millisecond
)

// placeRow is where an entry is in the order of all entries: like a blob, except that its bytes are
// of use for comparing them only, and its text names the place.
type placeRow struct {
	Base64 []byte `json:"base64"`
	Text   string `json:"text"`
	Size   int    `json:"size"` // of those bytes

	place stoat.Place
}

// placeRowOf returns a place without its name, and adds its bucket to those wanted.
func placeRowOf(p stoat.Place, wanted bucketNames) placeRow {
	order := []byte{1}
	if p.Catalog {
		order[0] = 0
	}
	order = binary.BigEndian.AppendUint64(order, p.Bucket)
	order = append(order, p.Key[:min(len(p.Key), placeShown)]...)
	wanted[p.Bucket] = nil
	return placeRow{Base64: order, Size: len(order), place: p}
}

// name gives the place its name.
func (p *placeRow) name(names bucketNames) {
	var text strings.Builder
	if p.place.Catalog {
		text.WriteString("catalog: ")
	}
	switch path := names[p.place.Bucket]; {
	case path != nil:
		for _, name := range path {
			text.WriteString(name + "/")
		}
	case p.place.Bucket != 0:
		fmt.Fprintf(&text, "bucket %d/", p.place.Bucket)
	}
	text.WriteString(readable(p.place.Key))
	p.Text = text.String()
}

// readable returns the start of a name or key as text.
func readable(p []byte) string {
	shown, rest := p[:min(len(p), placeShown)], ""
	if len(shown) < len(p) {
		shown, rest = wholeCharacters(shown), "…"
	}
	if utf8.Valid(shown) {
		return string(shown) + rest
	}
	if len(shown) > placeShown/4 {
		shown, rest = shown[:placeShown/4], "…"
	}
	return "0x" + hex.EncodeToString(shown) + rest
}

// bucketNames is the readable paths of buckets by their numbers; nil if a path is wanted and not
// known.
type bucketNames map[uint64][]string

// find finds paths that are wanted, as far as that is cheap: the database finds buckets by their
// names only, so finding one by its number means to look at all.
func (n bucketNames) find(ctx context.Context, tx *stoat.Tx) error {
	type level struct {
		in   stoat.KeySpace
		path []string
	}
	left, looked, end := len(n), 0, time.Now().Add(walkTime)
	if _, wanted := n[0]; wanted {
		left-- // the root has no name
	}
	for queue := []level{{in: tx}}; len(queue) > 0 && left > 0; queue = queue[1:] {
		at := queue[0]
		for name := range at.in.Buckets() {
			if looked++; looked > walkMost || left == 0 || time.Now().After(end) {
				return ctx.Err()
			}
			b, err := at.in.Bucket(name)
			if err != nil {
				return err
			}
			path := append(slices.Clone(at.path), readable(name))
			if known, wanted := n[b.ID()]; wanted && known == nil {
				n[b.ID()] = path
				left--
			}
			if len(path) < depthMost {
				queue = append(queue, level{b, path})
			}
		}
	}
	return ctx.Err()
}
