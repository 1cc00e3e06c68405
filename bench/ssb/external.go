package ssb

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"

	"github.com/stoatdb/stoat/bench/engine"
	"github.com/stoatdb/stoat/bench/external"
	"github.com/stoatdb/stoat/bench/machine"
	"github.com/stoatdb/stoat/bench/suite"
)

// The size of the conformance task. Its last batch is not full.
const (
	conformanceMessages = 1_000
	conformanceBatch    = 300
)

// script is what an external program is told to do in one job.
type script struct {
	run   run // makes the choices
	steps []external.Step
	sizes []int // of the values, by sequence number
	order keyOrder
}

// External is the suite's [external.Plan]: the steps of an engine that is an external program. It
// makes the same choices as the engines of this module.
func External(job suite.Job) ([]external.Script, error) {
	return externalScripts(job, newPlan(job.Settings))
}

func externalScripts(job suite.Job, p plan) ([]external.Script, error) {
	g, err := newGenerator(cmp.Or(job.Data, dataMessages), job.Seed)
	if err != nil {
		return nil, err
	}
	s := &script{run: run{job: job, plan: p, generator: g}}
	switch job.Task {
	case taskConform:
		return s.conformance()
	case taskMessages:
		return s.messages()
	case taskSize:
		return s.size()
	}
	return nil, nil
}

// conformance writes in one process and reads in another.
func (s *script) conformance() ([]external.Script, error) {
	var values [][]byte
	s.do(external.Open)
	err := s.append(conformanceMessages, conformanceBatch, suite.At{}, func(value []byte) {
		values = append(values, append([]byte(nil), value...))
	})
	if err != nil {
		return nil, err
	}
	s.do(external.Close)
	write := external.Script{Steps: s.steps}
	s.steps = nil
	s.do(external.Open)
	s.steps = append(s.steps, external.Step{
		Do: external.Digest, Count: len(values), SHA256: digest(s.run.job.Order, s.order, values),
	})
	s.run.plan.reads, s.run.plan.batch = 3, conformanceBatch
	if err := s.get(suite.At{}, "conformance_get", atRandom); err != nil {
		return nil, err
	}
	if err := s.iterate(suite.At{}, "conformance_iterate"); err != nil {
		return nil, err
	}
	s.do(external.Close)
	return []external.Script{write, {Steps: s.steps}}, nil
}

// digest returns the SHA-256 of all pairs in key order: for each, the length of the key, the key,
// the length of the value, and the value.
func digest(o engine.Order, order keyOrder, values [][]byte) string {
	h := sha256.New()
	var key [engine.KeyBytes]byte
	var text []byte
	for i := range values {
		sequence := order.at(i)
		o.Put(key[:], uint64(sequence))
		value := values[sequence]
		text = binary.LittleEndian.AppendUint32(text[:0], uint32(len(key)))
		text = append(text, key[:]...)
		text = binary.LittleEndian.AppendUint32(text, uint32(len(value)))
		text = append(text, value...)
		_, _ = h.Write(text) // never fails
	}
	return hex.EncodeToString(h.Sum(nil))
}

// messages is the task "messages", as far as an external program can do it.
func (s *script) messages() ([]external.Script, error) {
	job, p := s.run.job, s.run.plan
	reads := job.Wants("read_random", "read_sequential", "read_iterate")
	size := job.Profile != suite.Full && job.Wants("size")
	if !reads && !size && !job.Wants("append", "open") {
		return nil, nil
	}
	s.do(external.Open)
	if err := s.append(p.messages, p.batch, s.wanted("append", ""), nil); err != nil {
		return nil, err
	}
	if reads {
		if err := s.reads(loaded); err != nil {
			return nil, err
		}
		s.steps = append(s.steps, external.Step{
			Do: external.Idle, Millis: p.settler.Quiet.Milliseconds(),
		})
		if err := s.reads(settled); err != nil {
			return nil, err
		}
	}
	s.do(external.Close)
	if at := s.wanted("open", ""); at.Row != "" {
		s.steps = append(s.steps, external.Step{
			Do: external.Opens, Count: p.opens, Batch: 1, At: at,
		})
	}
	if err := s.reads(reopened); err != nil {
		return nil, err
	}
	done := external.Script{Steps: s.steps}
	if size {
		done.Finish = s.weigh(p.messages)
	}
	return []external.Script{done}, nil
}

// size is the task "size".
func (s *script) size() ([]external.Script, error) {
	p := s.run.plan
	s.do(external.Open)
	if err := s.append(p.sizeMessages, p.sizeBatch, suite.At{}, nil); err != nil {
		return nil, err
	}
	s.do(external.Close)
	return []external.Script{{Steps: s.steps, Finish: s.weigh(p.sizeMessages)}}, nil
}

// do adds a step without parameters.
func (s *script) do(what string) { s.steps = append(s.steps, external.Step{Do: what}) }

// wanted returns where a row's samples belong, or an empty place if the row is not wanted.
func (s *script) wanted(row, state string) suite.At {
	if !s.run.job.Wants(row) {
		return suite.At{}
	}
	return suite.At{Row: row, State: state}
}

// append adds the step that appends n messages. It passes each message to see, unless that is nil.
func (s *script) append(n, batch int, at suite.At, see func(value []byte)) error {
	path := external.Input(s.run.job, "values")
	var value []byte
	err := external.WriteValues(path, func() ([]byte, bool) {
		if len(s.sizes) == n {
			return nil, false
		}
		value = s.run.generator.append(value[:0])
		s.sizes = append(s.sizes, len(value))
		if see != nil {
			see(value)
		}
		return value, true
	})
	s.order = inKeyOrder(s.run.job.Order, n)
	s.steps = append(s.steps, external.Step{
		Do: external.Append, Values: path, Count: n, Batch: batch, At: at,
	})
	return err
}

// reads adds the steps of the read rows in one state. In the state reopened, the database is
// reopened before each row.
func (s *script) reads(state string) error {
	for _, row := range []string{"read_random", "read_sequential", "read_iterate"} {
		at := s.wanted(row, state)
		if at.Row == "" {
			continue
		}
		if state == reopened {
			s.do(external.Open)
		}
		var err error
		if row == "read_iterate" {
			err = s.iterate(at, row+"_"+state)
		} else {
			err = s.get(at, row+"_"+state, picking(row == "read_random"))
		}
		if err != nil {
			return err
		}
		if state == reopened {
			s.do(external.Close)
		}
	}
	return nil
}

// picking says which messages to get.
type picking bool

const (
	consecutive picking = false
	atRandom    picking = true
)

// get adds a step that gets messages: random ones, or consecutive ones.
func (s *script) get(at suite.At, file string, p picking) error {
	numbers := s.choices(at, p)
	var bytes int64
	for _, sequence := range numbers {
		bytes += int64(s.sizes[sequence])
	}
	return s.read(external.Get, at, file, numbers, bytes)
}

// choices returns the sequence numbers that all samples of a row get.
func (s *script) choices(at suite.At, how picking) []uint32 {
	p := s.run.plan
	random := s.run.random(at.Row, at.State)
	numbers := make([]uint32, p.reads*p.batch)
	for i := range numbers {
		sequence := i % p.batch
		if how == atRandom {
			sequence = random.IntN(len(s.sizes))
		}
		numbers[i] = uint32(sequence)
	}
	return numbers
}

// iterate adds a step that seeks to random keys with enough keys after them.
func (s *script) iterate(at suite.At, file string) error {
	p := s.run.plan
	random := s.run.random(at.Row, at.State)
	var numbers []uint32
	var bytes int64
	for range p.reads {
		first := random.IntN(len(s.sizes) - p.batch + 1)
		numbers = append(numbers, uint32(s.order.at(first)))
		for i := range p.batch {
			sequence := s.order.at(first + i)
			bytes += int64(s.sizes[sequence])
		}
	}
	return s.read(external.Iterate, at, file, numbers, bytes)
}

// read adds a step that reads.
func (s *script) read(what string, at suite.At, file string, numbers []uint32, bytes int64) error {
	p := s.run.plan
	path := external.Input(s.run.job, file)
	s.steps = append(s.steps, external.Step{
		Do: what, Numbers: path, Count: p.reads * p.batch, Batch: p.batch, At: at, Bytes: bytes,
	})
	return external.WriteNumbers(path, numbers)
}

// weigh measures the size on disk of the database that the program left behind.
func (s *script) weigh(messages int) func(record suite.Record) error {
	dir := external.Database(s.run.job)
	return func(record suite.Record) error {
		size, err := machine.SizeOf(dir)
		if err != nil {
			return fmt.Errorf("weigh the database: %w", err)
		}
		n := float64(messages)
		record(suite.At{Row: "size", State: "apparent"}, float64(size.Apparent)/n)
		record(suite.At{Row: "size", State: "allocated"}, float64(size.Allocated)/n)
		return nil
	}
}
