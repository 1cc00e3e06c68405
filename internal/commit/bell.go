package commit

import "context"

// bell is what followers wait at, once. Ringing it wakes one of them, which wakes the others, so a
// commit pays for waking one, however many there are.
type bell struct {
	struck chan struct{} // holds an item for the one to be woken
	rung   chan struct{} // closed by that one
}

// wake lets waiting followers look at what is visible now. It takes no lock.
func (r *recent) wake() {
	if r.bell.Load() == nil {
		return
	}
	if b := r.bell.Swap(nil); b != nil {
		b.struck <- struct{}{}
	}
}

func (r *recent) nextBell() *bell {
	for {
		if b := r.bell.Load(); b != nil {
			return b
		}
		b := &bell{struck: make(chan struct{}, 1), rung: make(chan struct{})}
		if r.bell.CompareAndSwap(nil, b) {
			return b
		}
	}
}

// wait returns when the bell has rung, or why ctx ended.
func (b *bell) wait(ctx context.Context) error {
	select {
	case <-b.struck:
		close(b.rung)
		return nil
	case <-b.rung:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
