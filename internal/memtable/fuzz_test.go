package memtable

import "testing"

// FuzzEdit runs a program of operations on a tiny-noded tree and on the model. An instruction is a
// byte that says what to do and how long a key follows.
func FuzzEdit(f *testing.F) {
	f.Add([]byte("\x08a\x08b\x08c\x11ab\x03\x0cd\x04\x08a\x05\x01a"))
	f.Add([]byte("\x10ab\x18abc\x20abcd\x05\x18ab\x00\x03\x20ab\x00\x00\x04"))
	f.Add([]byte("\x08a\x09b\x08c\x0fa\x0fc\x08b\x05\x0fb\x04\x09c\x0fd\x03\x0fa"))
	f.Add([]byte("\x58long prefix\x60long prefix1\x60long prefix2\x05\x06\x58long prefiy\x04"))
	f.Fuzz(func(t *testing.T, program []byte) {
		s := newSubject(t, newTiny(3, 4))
		var probes []string
		prefix, last := "", ""
		for len(program) > 0 && len(probes) < 1000 {
			op, n := program[0]&7, int(program[0]>>3)
			n = min(n, len(program)-1)
			key := string(program[1 : 1+n])
			program = program[1+n:]
			switch {
			case op == 3:
				s.rollback()
			case op == 4:
				s.commit()
			case op == 5 && n == 1:
				s.clear(last, prefix+key)
			case op == 5:
				s.snapshot()
			case op == 6: // a prefix for the keys to come
				prefix = key
			case n == 0:
			case op == 0:
				s.put(prefix+key, key)
			case op == 1:
				s.putUntil(prefix+key, key+prefix, uint64(n))
			case op == 2:
				s.delete(prefix + key)
			default:
				s.deleteRange(prefix+key, last+key)
			}
			probes = append(probes, key, prefix+key)
			last = prefix + key
		}
		s.check(probes)
	})
}
