package main

import (
	"fmt"
	"time"

	"github.com/stoatdb/stoat"
)

const thresholdHead = "| value | load, µs: tables | outside | get, µs: tables | outside |" +
	" scan, ns: tables | outside | written: tables | outside |\n" +
	"| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n"

// figures is what is measured of values in one place: the time per entry of each operation, and the
// bytes written for each byte committed.
type figures struct {
	load, get, scan time.Duration
	written         float64
}

// threshold loads 200 MB of values of one size, inside tables and outside.
func (b *bench) threshold() error {
	for _, size := range []int{256, 512, 1 << 10, 2 << 10, 4 << 10, 16 << 10} {
		var both [2]figures
		for i, threshold := range []int{-1, size} {
			err := b.with(&stoat.Options{ValueThreshold: threshold}, func(db *stoat.DB) (err error) {
				both[i], err = b.place(db, b.n(200<<20/size), size)
				return err
			})
			if err != nil {
				return err
			}
		}
		in, out := both[0], both[1]
		us := func(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
		fmt.Fprintf(b.out, "| %d | %.2f | %.2f | %.2f | %.2f | %d | %d | %.2f | %.2f |\n", size,
			us(in.load), us(out.load), us(in.get), us(out.get), in.scan, out.scan, in.written,
			out.written)
	}
	return nil
}

// place measures a load of n values, gets, and a scan; the reads copy the values.
func (b *bench) place(db *stoat.DB, n, size int) (f figures, err error) {
	if f.load, err = timed(func() error {
		return fill(db, n, among(n), randomValues(size))
	}); err != nil {
		return f, err
	}
	f.load /= time.Duration(n)
	settle(b.scale)
	const gets = 1000
	key, buf := among(n), make([]byte, size)
	f.get, err = median(61, func() error {
		for range gets {
			if err := db.View(func(tx *stoat.Tx) error {
				value, err := tx.Get(key())
				copy(buf, value)
				return err
			}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return f, err
	}
	f.get /= gets
	count := 0
	f.scan, err = timed(func() error {
		return db.View(func(tx *stoat.Tx) error {
			for _, value := range tx.Scan(stoat.Range{}) {
				copy(buf, value)
				count++
			}
			return nil
		})
	})
	f.scan /= time.Duration(max(count, 1))
	f.written = db.Stats().WriteAmplification()
	return f, err
}

// among returns a source of keys below n, each once in every n, in scattered order.
func among(n int) func() []byte {
	i := 0
	return func() []byte {
		i = (i + 7919) % n // visits all, unless n is a multiple of this prime
		return key(i)
	}
}
