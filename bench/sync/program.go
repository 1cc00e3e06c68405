package sync

import (
	"errors"
	"fmt"

	"github.com/stoatdb/stoat/bench/peer"
)

// program is a running program with one replica. It is used by one goroutine at a time.
type program struct{ *peer.Program[request, answer] }

// start starts a program.
func start(command []string) (*program, error) {
	p, err := peer.Start[request, answer](command)
	if err != nil {
		return nil, err
	}
	return &program{p}, nil
}

// call sends a request and returns the answer.
func (p *program) call(r request) (answer, error) {
	if err := p.send(r); err != nil {
		return answer{}, err
	}
	return p.receive(r.Do)
}

// send sends a request, which receive returns the answer to.
func (p *program) send(r request) error {
	if err := p.Send(r); err != nil {
		return fmt.Errorf("%s: %w", r.Do, err)
	}
	return nil
}

func (p *program) receive(do string) (a answer, err error) {
	a, err = p.Receive()
	switch {
	case err != nil:
	case a.Unsupported != "":
		err = errUnsupported
	case a.Error != "":
		err = errors.New(a.Error)
	}
	if err != nil {
		return a, fmt.Errorf("%s: %w", do, err)
	}
	return a, nil
}

// close closes the program's database and ends it.
func (p *program) close() error {
	if _, err := p.call(request{Do: doClose}); err != nil {
		p.Kill()
		return err
	}
	return p.End()
}
