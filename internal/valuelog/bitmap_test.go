package valuelog

import (
	"sync"
	"testing"
)

func TestBitmap_tellsValuesApart(t *testing.T) {
	const size = 300*granuleBytes + 48
	var b bitmap
	for at := uint64(48); at < size; at += granuleBytes {
		if b.has(at) {
			t.Errorf("the value at %d is there before it is added", at)
		}
		b.add(at, size)
		if !b.has(at) {
			t.Errorf("the value at %d is not there", at)
		}
	}
}

func TestBitmap_losesNothingInConcurrentUse(t *testing.T) {
	const size = 1 << 20
	var b bitmap
	var wg sync.WaitGroup
	for g := range uint64(4) {
		wg.Go(func() {
			for at := g * granuleBytes; at < size; at += 4 * granuleBytes {
				b.add(at, size)
			}
		})
	}
	wg.Wait()
	for at := uint64(0); at < size; at += granuleBytes {
		if !b.has(at) {
			t.Errorf("the value at %d is lost", at)
		}
	}
}
