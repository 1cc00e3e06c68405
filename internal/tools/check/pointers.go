package check

import (
	"cmp"
	"slices"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/valuelog"
)

// maxPointers is how many pointers are gathered and then followed in file order.
const maxPointers = 8 << 10

// pointer is a pointer with the path of the table that has it.
type pointer struct {
	valuelog.Pointer
	table string
}

// follow verifies the values of the gathered pointers. It returns why the check must end, if it
// must.
func (d *Check) follow() error {
	all := d.pointers
	d.pointers = all[:0]
	slices.SortFunc(all, func(a, b pointer) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Offset, b.Offset))
	})
	version := d.Snapshot.Levels.Version
	for _, p := range all {
		meta, ok := version.ValueFile(p.File)
		switch {
		case !ok:
			d.found.Add(p.table, corrupt.New(p.table, 0, "the table points into file %06d, which the "+
				"manifest does not name", p.File))
		case d.values.of(p.File) != nil:
			if err := d.values.of(p.File).Verify(p.Pointer); err != nil {
				d.found.Add(d.Values(meta), err)
			}
		}
		if err := d.read(uint64(p.Length)); err != nil {
			return err
		}
	}
	return nil
}
