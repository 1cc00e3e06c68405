package keyspace

// Space says what an internal key is the key of.
type Space uint8

// Spaces, in the order of their keys.
const (
	SpaceCatalog  Space = spaceCatalog  // a bucket, by its parent and its name
	SpaceSequence Space = spaceSequence // a bucket's sequence
	SpaceDropped  Space = spaceDropped  // a bucket that was dropped
	SpaceNextID   Space = spaceNextID   // the next bucket id
	SpaceSalvage  Space = spaceSalvage  // the salvage that made the database
	SpaceData     Space = spaceData     // a user's key in a bucket
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
	case key[0] >= spaceData:
		p.Space, rest, base = SpaceData, key, spaceData
	case key[0] == spaceNextID, key[0] == spaceSalvage:
		return p, len(rest) == 0
	case key[0] < spaceCatalog || key[0] > spaceDropped:
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
