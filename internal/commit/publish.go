package commit

import (
	"slices"

	"github.com/stoatdb/stoat/internal/memtable"
)

// Adopt makes visible a commit that was made elsewhere, the next one, and the tree that it makes.
// It is for pipelines without a log.
func (p *Pipeline) Adopt(commit uint64, root memtable.Root, payload []byte) {
	if p.recent.isFollowed() {
		p.recent.add(commit, [][]byte{slices.Clone(payload)})
	}
	p.newest.Store(commit)
	p.publish(commit, root)
}

// publish makes a commit visible to readers, then to followers.
func (p *Pipeline) publish(commit uint64, root memtable.Root) {
	p.config.Publish(commit, root)
	p.show(commit)
}

// show makes a commit that readers see visible to followers, unless it is withheld.
func (p *Pipeline) show(commit uint64) {
	p.visible.Store(commit)
	p.recent.wake()
}

// Show makes the commits up to the given one, which readers see now, visible to all followers, if
// they were withheld.
func (p *Pipeline) Show(commit uint64) {
	p.shown.Store(commit)
	p.recent.wake()
}
