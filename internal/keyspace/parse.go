package keyspace

// Space says what an internal key is the key of.
type Space uint8

// Spaces, in the order of their keys.
const (
	SpaceCatalog  Space = 0x01 // a bucket, by its parent and its name
	SpaceSequence Space = 0x02 // a bucket's sequence
	SpaceDropped  Space = 0x03 // a bucket that was dropped
	SpaceNextID   Space = 0x04 // the next bucket id
	SpaceSalvage  Space = 0x05 // the salvage that made the database
	SpaceData     Space = 0x10 // a user's key in a bucket
)

// Parts is what an internal key is made of.
type Parts struct {
	Space  Space
	Bucket uint64 // the bucket that it is in or about; of SpaceCatalog, the parent
	Name   []byte // of SpaceData the user's key, of SpaceCatalog the bucket's name; part of the key
}

// Parse takes an internal key apart. ok is false if no function of this package makes such a key;
// an empty name or user's key passes, as in the bounds of ranges.
func Parse(key []byte) (p Parts, ok bool) {
	if len(key) == 0 {
		return Parts{}, false
	}
	rest, base := key[1:], byte(0)
	p.Space = Space(key[0])
	switch {
	case p.Space >= SpaceData:
		p.Space, rest, base = SpaceData, key, byte(SpaceData)
	case p.Space == SpaceNextID, p.Space == SpaceSalvage:
		return p, len(rest) == 0
	case p.Space < SpaceCatalog || p.Space > SpaceDropped:
		return Parts{}, false
	}
	p.Bucket, p.Name, ok = parseID(rest, base)
	if !ok || len(rest) > 1 && rest[0] > base && rest[1] == 0 { // not in the fewest bytes
		return Parts{}, false
	}
	if named := p.Space == SpaceData || p.Space == SpaceCatalog; !named {
		ok = len(p.Name) == 0
	}
	return p, ok
}
