package rights

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/tuple"
)

// own returns what keys of records begin with that belong to a device: the prefix of an area, and
// the id of the device as bytes or as hexadecimal text.
func own(prefix []byte, device *[32]byte) [2][]byte {
	return [2][]byte{
		tuple.AppendBytes(bytes.Clone(prefix), device[:]),
		tuple.AppendString(bytes.Clone(prefix), hex.EncodeToString(device[:])),
	}
}

// inside reports whether the area has a key, as far as a device is concerned.
func inside(a *entry.Area, key []byte, device *[32]byte) bool {
	if !bytes.HasPrefix(key, a.Prefix) {
		return false
	}
	if !a.OwnOnly {
		return true
	}
	prefixes := own(a.Prefix, device)
	return bytes.HasPrefix(key, prefixes[0]) || bytes.HasPrefix(key, prefixes[1])
}

// contains reports whether everything that an area permits lies in what the areas of a parent
// permit its holder.
func contains(parent []entry.Area, holder *[32]byte, child *entry.Area) bool {
	if len(parent) == 0 {
		return true
	}
	return slices.ContainsFunc(parent, func(p entry.Area) bool {
		switch {
		case p.Collection != "" && p.Collection != child.Collection:
			return false
		case p.NoDelete && !child.NoDelete:
			return false
		case len(p.Fields) > 0 && (len(child.Fields) == 0 || !subset(child.Fields, p.Fields)):
			return false
		case p.OwnOnly && child.OwnOnly && bytes.Equal(p.Prefix, child.Prefix):
			return true
		}
		return inside(&p, child.Prefix, holder)
	})
}

// subset reports whether all names are in a sorted list.
func subset(names, of []string) bool {
	for _, name := range names {
		if _, ok := slices.BinarySearch(of, name); !ok {
			return false
		}
	}
	return true
}

// within reports whether all areas of a grant lie in those of its parent.
func within(child, parent []entry.Area, holder *[32]byte) bool {
	if len(child) == 0 {
		return contains(parent, holder, &entry.Area{})
	}
	for i := range child {
		if !contains(parent, holder, &child[i]) {
			return false
		}
	}
	return true
}

// covers returns why the areas, which are those of a device, do not permit changes of a collection,
// or nil.
func covers(areas []*entry.Area, device *[32]byte, c *entry.Changes) error {
	for i := range c.Records {
		r := &c.Records[i]
		here := slices.DeleteFunc(slices.Clone(areas), func(a *entry.Area) bool {
			return !inside(a, r.Key, device)
		})
		switch {
		case len(here) == 0:
			return fmt.Errorf("the record with the key %x", r.Key[:min(len(r.Key), 64)])
		case slices.ContainsFunc(here, anyChange):
			continue
		case r.Delete:
			return fmt.Errorf("the deletion of the record with the key %x",
				r.Key[:min(len(r.Key), 64)])
		}
		for _, op := range r.Ops {
			name := c.Fields[op.Field]
			if !slices.ContainsFunc(here, func(a *entry.Area) bool { return hasField(a, name) }) {
				return fmt.Errorf("the field %q", name)
			}
		}
	}
	return nil
}

// unlimited reports whether an area permits everything in its collection.
func unlimited(a *entry.Area) bool {
	return len(a.Prefix) == 0 && !a.OwnOnly && anyChange(a)
}

// anyChange reports whether an area permits everything with the records that it has, also to delete
// them.
func anyChange(a *entry.Area) bool { return len(a.Fields) == 0 && !a.NoDelete }

// hasField reports whether an area permits to change a field.
func hasField(a *entry.Area, name string) bool {
	return len(a.Fields) == 0 || subset([]string{name}, a.Fields)
}
