// Package peer runs programs that a suite measures: each reads requests as lines of JSON and
// answers each with one line.
package peer

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os/exec"

	"github.com/stoatdb/stoat/bench/process"
	"github.com/stoatdb/stoat/bench/tail"
)

// Program is a running program that answers each Q with an A. One goroutine at a time uses it.
type Program[Q, A any] struct {
	in         io.WriteCloser
	requests   *json.Encoder
	answers    *json.Decoder
	complaints tail.Writer
	stop       context.CancelFunc
	ended      chan error // what became of it
}

// Start starts a program.
func Start[Q, A any](command []string) (*Program[Q, A], error) {
	ctx, stop := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	p := &Program[Q, A]{stop: stop, ended: make(chan error, 1)}
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

// Send sends a request, which Receive takes the answer to.
func (p *Program[Q, A]) Send(request Q) error {
	if err := p.requests.Encode(request); err != nil {
		return p.died(err)
	}
	return nil
}

// Receive takes the answer to the oldest request without one.
func (p *Program[Q, A]) Receive() (answer A, err error) {
	if err := p.answers.Decode(&answer); err != nil {
		return answer, p.died(err)
	}
	return answer, nil
}

// died returns why a program does not answer.
func (p *Program[Q, A]) died(err error) error {
	p.stop()
	ended := <-p.ended
	p.ended <- ended
	return errors.Join(err, ended, errors.New(p.complaints.String()))
}

// End closes the program's input and waits for its end.
func (p *Program[Q, A]) End() error {
	err := p.in.Close()
	if err != nil {
		p.stop()
	}
	ended := <-p.ended
	p.ended <- ended
	p.stop()
	return errors.Join(err, ended)
}

// Kill ends the program. It may have ended already.
func (p *Program[Q, A]) Kill() {
	p.stop()
	<-p.ended
	p.ended <- nil
}

// Serve is the other side: it reads requests and answers them until there are no more.
func Serve[Q, A any](in io.Reader, out io.Writer, do func(*Q) A) error {
	requests, answers := json.NewDecoder(bufio.NewReader(in)), json.NewEncoder(out)
	for {
		var request Q
		if err := requests.Decode(&request); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := answers.Encode(do(&request)); err != nil {
			return err
		}
	}
}
