package torture

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/stoatdb/stoat"
)

// times calls fn with 0 to n-1 until it fails.
func times(n int, fn func(i int) error) error {
	for i := range n {
		if err := fn(i); err != nil {
			return err
		}
	}
	return nil
}

// every calls fn if i+1 is a multiple of n.
func every(n, i int, fn func() error) error {
	if (i+1)%n != 0 {
		return nil
	}
	return fn()
}

func puts(r *runner) error {
	return times(40, func(i int) error {
		err := r.update(func(t twin) error { return t.put(fmt.Sprint(i), strings.Repeat("v", i)) })
		return errors.Join(err, every(9, i, r.sync))
	})
}

// transactions writes many keys per transaction and deletes half of the older ones.
func transactions(r *runner) error {
	return times(25, func(i int) error {
		err := r.update(func(t twin) error {
			return times(20, func(k int) error {
				if i > 2 && k%2 == 0 {
					if err := t.delete(fmt.Sprintf("tx-%d-%d", i-3, k)); err != nil {
						return err
					}
				}
				return t.put(fmt.Sprintf("tx-%d-%d", i, k), fmt.Sprint(i*k))
			})
		})
		return errors.Join(err, every(10, i, r.sync))
	})
}

func overwrites(r *runner) error {
	return times(30, func(i int) error {
		return r.update(func(t twin) error {
			if i%7 == 6 {
				return t.delete(fmt.Sprint(i % 5))
			}
			return t.put(fmt.Sprint(i%5), strings.Repeat(fmt.Sprint(i), 30))
		})
	})
}

// nestedBuckets creates, fills and drops nested buckets, and creates them again.
func nestedBuckets(r *runner) error {
	return times(25, func(i int) error {
		outer, inner := fmt.Sprint("outer-", i%3), fmt.Sprint("inner-", i%2)
		return r.update(func(t twin) error {
			if i%8 == 7 {
				return t.drop(outer)
			}
			o, err := t.create(outer)
			if err != nil {
				return err
			}
			if i%5 == 4 {
				return o.drop(inner)
			}
			b, err := o.create(inner)
			if err != nil {
				return err
			}
			return times(5, func(k int) error {
				return errors.Join(b.put(fmt.Sprint(k), fmt.Sprint(i)), o.put(fmt.Sprint(k, i), "o"))
			})
		})
	})
}

func sequences(r *runner) error {
	return times(40, func(i int) error {
		return r.update(func(t twin) error {
			b, err := t.create(fmt.Sprint(i % 2))
			if err != nil {
				return err
			}
			set := uint64(0)
			if i%20 == 19 {
				set = uint64(i * i)
			}
			return errors.Join(b.sequence(set), t.sequence(0))
		})
	})
}

// largeValues writes values that are larger than a memtable, a table and a chunk of the log.
func largeValues(r *runner) error {
	p := r.generator()
	return times(16, func(i int) error {
		err := r.update(func(t twin) error {
			size := 1 << (10 + i%9)
			value := make([]byte, size)
			for k := range value {
				value[k] = byte(p.rng.Uint32())
			}
			err := t.put(fmt.Sprint("k", i%6), string(value))
			return errors.Join(err, t.put(fmt.Sprint("s", i), "small"))
		})
		return errors.Join(err, every(5, i, r.sync))
	})
}

// hugeTransactions commits and rolls back transactions so large that much of them reaches the log
// long before they end, with small ones in between.
func hugeTransactions(r *runner) error {
	p := r.generator()
	return times(4, func(i int) error {
		write := func(t twin) error { return p.writeMuch(t) }
		end := r.update
		if i%3 == 1 {
			end = r.abort
		}
		err := end(write)
		return errors.Join(err, r.update(func(t twin) error { return t.put("small", fmt.Sprint(i)) }))
	})
}

// aborts rolls back more than it commits.
func aborts(r *runner) error {
	return times(36, func(i int) error {
		write := func(t twin) error {
			return times(4, func(k int) error { return t.put(fmt.Sprint(i, k), strings.Repeat("a", i)) })
		}
		if i%3 == 0 {
			return r.update(write)
		}
		return r.abort(write)
	})
}

func flushes(r *runner) error {
	return times(20, func(i int) error {
		err := r.update(func(t twin) error {
			return times(5, func(k int) error { return t.put(fmt.Sprint(i*k%17), fmt.Sprint(i)) })
		})
		return errors.Join(err, every(2, i, r.flush))
	})
}

// churn makes enough commits that every kind of background work happens many times.
func churn(r *runner) error {
	p := r.generator()
	return times(50, func(i int) error {
		err := r.update(func(t twin) error {
			key := fmt.Sprintf("key-%03d", p.rng.IntN(40))
			if p.chance(4) {
				return t.delete(key)
			}
			return t.put(key, strings.Repeat(fmt.Sprint(i), 20+p.rng.IntN(20)))
		})
		return errors.Join(err, every(15, i, r.sync))
	})
}

func reopens(r *runner) error {
	return times(15, func(i int) error {
		err := r.update(func(t twin) error {
			return times(4, func(k int) error {
				return t.put(fmt.Sprint(i*7%13, k), strings.Repeat("r", 60))
			})
		})
		return errors.Join(err, every(3, i, r.reopen))
	})
}

// sessions closes the database after every second or third transaction.
func sessions(r *runner) error {
	p := r.generator()
	p.keys = 64
	return times(24, func(i int) error {
		err := r.update(func(t twin) error { return p.write(t, 1+p.rng.IntN(12)) })
		if i%5 == 1 || i%5 == 4 {
			err = errors.Join(err, r.reopen())
		}
		return err
	})
}

// randomTransactions does everything.
func randomTransactions(r *runner) error {
	p := r.generator()
	p.keys, p.long = 64, true
	return times(25, func(i int) error {
		err := r.update(func(t twin) error { return p.write(t, 1+p.rng.IntN(15)) })
		err = errors.Join(err, every(11, i, r.sync), every(17, i, r.flush))
		return errors.Join(err, every(20, i, r.reopen))
	})
}

// ranges deletes ranges of new and old keys, in part and entirely.
func ranges(r *runner) error {
	p := r.generator()
	key := func() []byte { return fmt.Appendf(nil, "key-%02d", p.rng.IntN(40)) }
	return times(30, func(i int) error {
		err := r.update(func(t twin) error {
			return times(1+p.rng.IntN(6), func(k int) error {
				switch p.rng.IntN(5) {
				case 0:
					return t.deleteRange(stoat.Range{Start: key(), End: key()})
				case 1:
					return t.deleteRange(stoat.Range{
						Start: key(), Limit: 1 + p.rng.IntN(4), Reverse: p.chance(2),
					})
				}
				return t.put(string(key()), strings.Repeat(fmt.Sprint(i), p.rng.IntN(60)))
			})
		})
		return errors.Join(err, every(12, i, r.flush), every(13, i, r.sync), every(19, i, r.reopen))
	})
}

// expiry mixes keys that expire soon with others while time passes.
func expiry(r *runner) error {
	p := r.generator()
	return times(40, func(i int) error {
		err := r.update(func(t twin) error {
			return times(3, func(int) error {
				key := fmt.Sprintf("key-%02d", p.rng.IntN(30))
				value := strings.Repeat("e", p.rng.IntN(150))
				if p.chance(3) {
					return t.put(key, value)
				}
				return t.putTTL(key, value, p.ttl())
			})
		})
		p.wait()
		return errors.Join(err, every(9, i, r.flush), every(11, i, r.sync), every(30, i, r.reopen))
	})
}

// outsideValues overwrites values that are mostly outside of tables, which leaves garbage in their
// files.
func outsideValues(r *runner) error {
	p := r.generator()
	return times(40, func(i int) error {
		err := r.update(func(t twin) error {
			return times(3, func(int) error {
				key := fmt.Sprintf("key-%02d", p.rng.IntN(25))
				if p.chance(6) {
					return t.delete(key)
				}
				return t.put(key, strings.Repeat(fmt.Sprint(i%10), p.rng.IntN(300)))
			})
		})
		return errors.Join(err, every(7, i, r.flush), every(10, i, r.sync), every(25, i, r.reopen))
	})
}

// compactions writes keys that expire, deleted keys and values outside of tables, and compacts
// everything.
func compactions(r *runner) error {
	p := r.generator()
	return times(16, func(i int) error {
		err := r.update(func(t twin) error {
			return times(12, func(k int) error { return p.spill(t, i, k) })
		})
		return errors.Join(err, every(3, i, r.compact), every(10, i, r.reopen))
	})
}

// spills commits and rolls back transactions several times as large as a memtable, with keys at the
// end of the tables or all over them, and small transactions in between.
func spills(r *runner) error {
	p := r.generator()
	return times(8, func(i int) error {
		write := func(t twin) error {
			if p.chance(3) {
				if err := t.drop("bucket"); err != nil {
					return err
				}
			}
			b, err := t.create("bucket")
			if err != nil {
				return err
			}
			return times(40+p.rng.IntN(80), func(k int) error { return p.spill(b, i, k) })
		}
		end := r.update
		if i%3 == 1 {
			end = r.abort
		}
		err := end(write)
		small := func(t twin) error { return t.put(fmt.Sprint("small", i%3), fmt.Sprint(i)) }
		return errors.Join(err, r.update(small), every(5, i, r.sync), every(7, i, r.reopen))
	})
}

// spill writes entry k of a transaction that does not fit into memory.
func (p *generator) spill(t twin, i, k int) error {
	key := fmt.Sprintf("key-%02d-%03d", i, k)
	if i%2 == 0 {
		key = fmt.Sprintf("key-%03d", p.rng.IntN(100))
	}
	switch p.rng.IntN(12) {
	case 0:
		return t.delete(key)
	case 1:
		return t.putTTL(key, "expires", p.ttl())
	case 2:
		p.wait()
		return t.deleteRange(stoat.Range{Start: []byte(key), Limit: p.rng.IntN(4)})
	case 3:
		return t.get(key)
	}
	return t.put(key, strings.Repeat(fmt.Sprint(k%10), p.rng.IntN(300)))
}

// parallel commits from several goroutines, which share syncs.
func parallel(r *runner) error {
	var writers sync.WaitGroup
	errs := make([]error, 4)
	for w := range errs {
		writers.Go(func() {
			errs[w] = times(12, func(i int) error {
				return r.update(func(t twin) error {
					return errors.Join(t.sequence(0), t.put(fmt.Sprint(w, "-", i%9), strings.Repeat("p", 40)))
				})
			})
		})
	}
	writers.Wait()
	return errors.Join(errs...)
}

// parallelSpills commits from several goroutines. Some transactions go to tables while others wait
// for a sync.
func parallelSpills(r *runner) error {
	var writers sync.WaitGroup
	errs := make([]error, 4)
	for w := range errs {
		writers.Go(func() {
			errs[w] = times(10, func(i int) error {
				return r.update(func(t twin) error {
					n := 1
					if (i+w)%5 == 0 {
						n = 30
					}
					return times(n, func(k int) error {
						return t.put(fmt.Sprint((i+k)%35), strings.Repeat(fmt.Sprint(w), 600))
					})
				})
			})
		})
	}
	writers.Wait()
	return errors.Join(errs...)
}
