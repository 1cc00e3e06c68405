package sync

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"

	"github.com/stoatdb/stoat/bench/process"
	"github.com/stoatdb/stoat/bench/tail"
)

// program is a running program with one replica. It is used by one goroutine at a time.
type program struct {
	in         io.WriteCloser
	requests   *json.Encoder
	answers    *json.Decoder
	complaints tail.Writer
	stop       context.CancelFunc
	ended      chan error // what became of it
}

// start starts a program.
func start(command []string) (*program, error) {
	ctx, stop := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	p := &program{stop: stop, ended: make(chan error, 1)}
	cmd.Stderr = &p.complaints
	in, err := cmd.StdinPipe()
	if err != nil {
		stop()
		return nil, err
	}
	read, write := io.Pipe()
	cmd.Stdout = write
	p.in, p.requests, p.answers = in, json.NewEncoder(in), json.NewDecoder(bufio.NewReader(read))
	go func() {
		err := process.Run(cmd)
		_ = write.Close() // never fails
		p.ended <- err
	}()
	return p, nil
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
	if err := p.requests.Encode(&r); err != nil {
		return fmt.Errorf("%s: %w", r.Do, p.died(err))
	}
	return nil
}

func (p *program) receive(do string) (a answer, err error) {
	err = p.answers.Decode(&a)
	switch {
	case err != nil:
		err = p.died(err)
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

// died returns why a program does not answer.
func (p *program) died(err error) error {
	p.stop()
	ended := <-p.ended
	p.ended <- ended
	return errors.Join(err, ended, errors.New(p.complaints.String()))
}

// close closes the program's database and ends it.
func (p *program) close() error {
	_, err := p.call(request{Do: doClose})
	if closed := p.in.Close(); err == nil {
		err = closed
	}
	if err != nil {
		p.stop()
	}
	ended := <-p.ended
	p.ended <- ended
	p.stop()
	return errors.Join(err, ended)
}

// kill ends the program. It may have ended already.
func (p *program) kill() {
	p.stop()
	<-p.ended
	p.ended <- nil
}
