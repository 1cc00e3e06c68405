package sync

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"time"

	"github.com/stoatdb/stoat/replica"
)

// exportTo writes what the replica has to a new file.
func (p *replicaProgram) exportTo(file string) error {
	if p.plain {
		return errUnsupported
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	err = replica.Export(p.ctx, p.space, w)
	if err == nil {
		err = w.Flush()
	}
	return errors.Join(err, f.Close())
}

// importFrom takes what a file has.
func (p *replicaProgram) importFrom(file string) (a answer, err error) {
	if p.plain {
		return a, errUnsupported
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return a, err
	}
	began := time.Now()
	err = replica.Import(p.ctx, p.space, bytes.NewReader(content))
	return answer{Nanoseconds: since(began)}, err
}

// prune makes a checkpoint of everything, and frees what it covers.
func (p *replicaProgram) prune() error {
	if p.plain {
		return errUnsupported
	}
	err := p.db.Update(p.space.Checkpoint)
	if err == nil {
		err = p.space.Seal()
	}
	if err == nil {
		err = p.space.Prune()
	}
	return err
}
