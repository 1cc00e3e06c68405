package replica

import (
	"errors"
	"slices"

	"github.com/stoatdb/stoat/replica/internal/entry"
)

// All who may have entries know the roots of a checkpoint, also of collections that they may not
// read. So that nobody can check a guess of a small collection against its root, the tree has a
// salt, as new entries have, once any grant is narrower than reading everything. Its author draws
// the salts, and writes them in data entries directly before the checkpoint, in parts that change
// nothing. Like all content, they travel to those only who may read the collection. A replica that
// starts with the checkpoint is given the leaf of the salt with those of the chunks.

// salts are the salts of a checkpoint by collection.
type salts map[string][]byte

// newSalts returns salts for a new checkpoint of this replica: none as long as all who know its
// roots may read everything.
func (t *txn) newSalts() (salts, error) {
	names, err := t.collectionNames()
	if err != nil {
		return nil, err
	}
	all := salts{}
	for _, name := range names {
		salt, err := t.salt()
		if err != nil || salt == nil {
			return nil, err
		}
		all[name] = salt
	}
	return all, nil
}

// issueSalts appends entries with the salts of the collections that a checkpoint has to the own
// log, and returns how many there are. The next entry of the log must be the checkpoint's.
func (t *txn) issueSalts(act *entry.Checkpoint, salts salts) (n uint64, err error) {
	var parts []entry.Part
	for i := range act.Chunks {
		name := act.Chunks[i].Collection
		if salt := salts[name]; salt != nil {
			parts = append(parts, entry.Part{Group: name,
				Data: (&entry.Changes{Salt: salt}).Append(nil)})
		}
	}
	for some := range slices.Chunk(parts, entry.PartsMax) {
		next, err := t.nextOwn()
		if err == nil {
			err = t.issue(next, &entry.Entry{Kind: entry.KindData, Parts: some})
		}
		if err != nil {
			return 0, err
		}
		n++
	}
	return n, nil
}

// saltsOf returns the salts of a checkpoint, as far as their content is here.
func (t *txn) saltsOf(c *candidate) (salts, error) {
	all := salts{}
	for seq := c.at.seq - min(c.act.Salts, c.at.seq); seq < c.at.seq; seq++ {
		e, err := t.entry(c.at.log, seq)
		if errors.Is(err, ErrPruned) {
			continue // it is not directly before the checkpoint, whose author lies
		}
		if err != nil {
			return nil, err
		}
		for i := range e.Parts {
			part := &e.Parts[i]
			if e.Kind == entry.KindData && part.Withheld == nil && entry.IsSalt(part.Data) {
				all[part.Group] = slices.Clone(part.Data[len(part.Data)-entry.SaltSize:])
			}
		}
	}
	return all, nil
}

// addUnsalted adds the collections to those that are missing at the horizon whose salts are: their
// state cannot be compared with the checkpoint.
func (t *txn) addUnsalted(missing map[string]uint32, hz *horizon) error {
	lacks, err := t.lacks()
	if err != nil {
		return err
	}
	var made *candidate // parsed once, and only if any gap is before it
	for name, number := range lacks {
		gap, err := t.gap(number, hz.at.log)
		if err != nil {
			return err
		}
		if gap == 0 || gap >= hz.at.seq {
			continue
		}
		if made == nil {
			if made, err = t.candidate(hz.at); err != nil {
				return err
			}
		}
		if made.act.Salts > 0 {
			missing[name] = number
		}
	}
	return nil
}

// isUnsalted reports whether the salt of a collection at the horizon may be missing, given its act.
func (t *txn) isUnsalted(number uint32, hz *horizon, act *entry.Checkpoint) (bool, error) {
	gap, err := t.gap(number, hz.at.log)
	return act.Salts > 0 && gap > 0 && gap < hz.at.seq, err
}
