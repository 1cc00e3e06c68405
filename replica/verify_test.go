package replica

import (
	"strings"
	"testing"
)

// A run ends with the entry with which it has 64 KiB: so fork proofs and proof runs, which have the
// entries of runs without their content, stay small. A run that goes on is refused.
func TestVerify_refusesRunsThatAreTooLong(t *testing.T) {
	p := newPeer(t, nil)
	f := newForger(p)
	p.take(f.begin())
	f.add(data(1, strings.Repeat("a", runBytes/2)))
	f.add(data(2, strings.Repeat("b", runBytes/2))) // with what is around them, this is enough
	long := *f.run
	p.take(f.begin())
	f.add(data(3, "c"))
	long.entries = append(long.entries[:2:2], f.run.entries...)
	long.seal = f.run.seal
	p.refuse(&long)
	p.take(f.begin())
}
