package main

import (
	"fmt"
	"time"
)

// troubleEvery is how often a command says why it waits.
const troubleEvery = 5 * time.Second

// patiently runs fn, and says on standard error now and then what the trouble is, as long as there
// is any: what fails is tried without end, and a store may be full, or refuse what is sent to it.
func (s *stdio) patiently(trouble func() error, fn func() error) error {
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(troubleEvery)
		defer ticker.Stop()
		for {
			select {
			case <-stop:
				return
			case <-ticker.C:
			}
			if err := trouble(); err != nil {
				fmt.Fprintf(s.err, "stoat-remote: still trying: %v\n", advise(err))
			}
		}
	}()
	defer func() {
		close(stop)
		<-ended
	}()
	return fn()
}
