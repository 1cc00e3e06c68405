package replica

import (
	"testing"
	"time"
)

// forkedCheckpoint returns a sole root that has pruned behind its checkpoint, a writer, and a
// replica that has met a copy of the root instead, whose log has another entry in the place of the
// checkpoint.
func forkedCheckpoint(t *testing.T, other func(copied *peer)) (root, writer, victim *peer) {
	t.Helper()
	root, two, writer, victim := forkedCopies(t, other)
	must(t, root.space.Prune())
	meet(t, two, victim)
	must(t, two.db.Close())
	return root, writer, victim
}

// The author of a checkpoint has forked its log at the checkpoint's entry. Who has the other branch
// starts with the checkpoint and is sound, the author makes the next one, and who has met the fork
// first, so that the checkpoint is void there, notices that and goes over.
func TestStart_whereTheCheckpointsLogHasForked(t *testing.T) {
	for name, other := range map[string]func(p *peer){
		"at data":         func(p *peer) { p.put(task{ID: 5, Title: "of the copy"}) },
		"at a checkpoint": func(p *peer) { must(p.t, p.checkpoint()) },
	} {
		t.Run(name, func(t *testing.T) {
			root, writer, victim := forkedCheckpoint(t, other)
			startWith(t, root, victim)
			for range 2 {
				meet(t, root, victim)
				meet(t, root, writer)
			}
			for _, p := range []*peer{root, victim} {
				must(t, p.verify())
				if len(p.split()) > 0 || len(p.covered()) != 2 {
					t.Errorf("it goes by a checkpoint of %d logs", len(p.covered()))
				}
			}
			if len(writer.covered()) > 0 {
				t.Fatal("the checkpoint is not void where the fork was known")
			}
			for _, p := range []*peer{root, writer, victim} {
				p.now = p.now.Add(100 * 24 * time.Hour) // the writer cannot agree to the next one
			}
			for range 2 {
				write(root, victim)
				meet(t, root, victim)
			}
			must(t, root.checkpoint())
			meet(t, root, writer)
			if len(writer.split()) == 0 {
				t.Error("nobody notices that the first checkpoint is void there")
			}
			must(t, writer.goOver(root))
			together(t, root, writer, victim)
			for _, p := range []*peer{root, writer, victim} {
				must(t, p.verify())
				if st := p.split(); len(st) > 0 {
					t.Errorf("a split is left: %v", st)
				}
			}
		})
	}
}
