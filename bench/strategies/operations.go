package strategies

import (
	"fmt"
	"runtime"
)

// single writes records in one transaction each: all of them, or a sample in addition to the
// existing ones.
func (r *run) single() error {
	var w stopwatch
	end := r.count + r.plan.singles
	for r.count < end {
		records := r.next(r.block, end)
		w.start()
		for i, record := range records {
			err := r.db.Update(func(root Bucket) error {
				return r.layout.write(root, r.block.ids[i], record)
			})
			if err != nil {
				return err
			}
		}
		w.stop()
	}
	r.record(rowSingle, w.each(r.plan.singles))
	return r.db.View(r.checkSum)
}

// bulk writes all records in one transaction. The clock never stops: an engine that writes in the
// background would continue meanwhile.
func (r *run) bulk() error {
	b := newBlock(r.data, r.data.ahead(r.plan.n, r.ahead))
	records := r.next(b, r.plan.n)
	var w stopwatch
	w.start()
	err := r.db.Update(func(root Bucket) error {
		for ; len(records) > 0; records = r.next(b, r.plan.n) {
			for i, record := range records {
				if err := r.layout.write(root, b.ids[i], record); err != nil {
					return err
				}
			}
		}
		return nil
	})
	w.stop()
	if err != nil {
		return err
	}
	r.record(rowBulk, w.each(r.plan.n))
	runtime.GC() // the heap is then equally small, however many records were made ahead
	return nil
}

// next fills the block with the next records to write, below n, and counts them as written.
func (r *run) next(b *block, n int) []Record {
	records := b.consecutive(r.count, n)
	r.sum = b.sum(r.sum)
	r.count += len(records)
	return records
}

// reading does a row that reads, once right after reopening, which is its own row, and then
// repeatedly. once does one pass; its stopwatch has then run for n records.
func (r *run) reading(row string, n int, once func(sample int, w *stopwatch) error) error {
	if !r.job.Wants(row, firstOf(row)) {
		return nil
	}
	if err := r.close(); err != nil {
		return err
	}
	if err := r.reopen(); err != nil {
		return err
	}
	for sample := range 1 + r.plan.reads {
		var w stopwatch
		if err := once(sample, &w); err != nil {
			return err
		}
		name := row
		if sample == 0 {
			name = firstOf(row)
		}
		r.record(name, w.each(n))
	}
	return nil
}

// read reads random records, half as many as there are.
func (r *run) read() error {
	count := max(1, r.plan.n/2)
	return r.reading(rowRead, count, func(sample int, w *stopwatch) error {
		random := r.random(rowRead, sample)
		for left := count; left > 0; left -= len(r.block.ids) {
			r.block.choose(random, r.plan.n, left)
			if err := r.readBlock(w); err != nil {
				return err
			}
		}
		return nil
	})
}

// readBlock reads the records of the block in one transaction each.
func (r *run) readBlock(w *stopwatch) error {
	into := r.block.room()
	w.start()
	for i, id := range r.block.ids {
		err := r.db.View(func(root Bucket) error { return r.layout.read(root, id, into[i]) })
		if err != nil {
			return err
		}
	}
	w.stop()
	return r.block.check()
}

// readMany reads the middle third of the records in one transaction.
func (r *run) readMany() error {
	count := max(1, r.plan.n/3)
	first := (r.plan.n - count) / 2
	return r.reading(rowReadMany, count, func(_ int, w *stopwatch) error {
		w.start()
		defer w.stop()
		return r.db.View(func(root Bucket) error {
			w.stop()
			for id := first; id < first+count; id += len(r.block.ids) {
				r.block.consecutive(id, first+count)
				into := r.block.room()
				w.start()
				if err := r.layout.readMany(root, id, into); err != nil {
					return err
				}
				w.stop()
				if err := r.block.check(); err != nil {
					return err
				}
			}
			w.start()
			return nil
		})
	})
}

// fieldSum adds up one field of all records.
func (r *run) fieldSum() error {
	return r.reading(rowSum, r.count, func(_ int, w *stopwatch) error {
		w.start()
		defer w.stop()
		return r.db.View(r.checkSum)
	})
}

// checkSum returns an error if the sum differs from that of what was written. Both are added up in
// the same order and are therefore equal to the last bit.
func (r *run) checkSum(root Bucket) error {
	sum, err := r.layout.sum(root, r.count, r.data.sum)
	if err == nil && sum != r.sum {
		name := r.data.schema.names[r.data.sum]
		err = fmt.Errorf("the sum of %s is %v instead of %v", name, sum, r.sum)
	}
	return err
}

// update sets a field of random records to that of their successors, in one transaction each, and
// reads them afterwards.
func (r *run) update() error {
	if !r.job.Wants(rowUpdate) {
		return nil
	}
	var w, unused stopwatch
	random := r.random(rowUpdate, 0)
	for left := r.plan.updates; left > 0; left -= len(r.block.ids) {
		r.block.choose(random, r.plan.n, left)
		from := r.block.neighbours(r.plan.n)
		w.start()
		for i, id := range r.block.ids {
			err := r.db.Update(func(root Bucket) error {
				return r.layout.update(root, id, r.data.update, from[i])
			})
			if err != nil {
				return err
			}
		}
		w.stop()
		if err := r.readBlock(&unused); err != nil {
			return err
		}
	}
	r.record(rowUpdate, w.each(r.plan.updates))
	return nil
}
