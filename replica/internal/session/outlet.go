package session

// outlet packs and writes frames, in their order. While it does so with many, the next are
// collected. It is of the goroutine that writes.
type outlet struct {
	s       *Session
	pack    packer
	frames  []byte     // to be written
	writing []byte     // these before them
	packed  []byte     // buffer
	job     chan error // of what is written in the background; nil: nothing is
}

// flush writes the frames, in the background if there are many.
func (o *outlet) flush() error {
	if len(o.frames) == 0 {
		return nil
	}
	if err := o.wait(); err != nil {
		return err
	}
	o.frames, o.writing = o.writing[:0], o.frames
	if len(o.writing) < burst {
		return o.write()
	}
	job := make(chan error, 1)
	o.job = job
	go func() { job <- o.write() }()
	return nil
}

// wait returns when nothing is written in the background, and the error if that has failed.
func (o *outlet) wait() (err error) {
	if o.job != nil {
		err = <-o.job
		o.job = nil
	}
	return err
}

// write packs and writes what flush has taken.
func (o *outlet) write() (err error) {
	if o.packed, err = o.pack.pack(o.packed[:0], o.writing); err != nil {
		o.s.fail(err)
		return nil
	}
	return o.s.writePatiently(o.packed)
}
