package sync

import (
	"fmt"
	"path/filepath"

	"github.com/stoatdb/stoat/bench/suite"
)

// first is the task "first".
func (r *run) first() error {
	if r.local {
		return nil
	}
	for _, n := range r.plan.sizes {
		if err := r.firstOf(n); err != nil {
			return fmt.Errorf("%d records: %w", n, err)
		}
	}
	return nil
}

// pair is a server with records, a client that knows of it, and the proxy between them.
type pair struct {
	run            *run
	dir            string // of the databases
	server, client *program
	invitation     string
	proxy          *proxy
	items          []item
}

// pair loads n records, and starts a server with them and an empty client.
func (r *run) pair(name string, n int) (*pair, error) {
	items, file, err := r.data(n)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(r.job.Dir, fmt.Sprintf("%s-%d", name, n))
	home := filepath.Join(dir, "server")
	if err := r.load(home, file, n); err != nil {
		return nil, err
	}
	p := &pair{run: r, dir: dir, items: items}
	if p.server, _, err = r.open(home, request{Sync: r.job.Sync, ID: noRecord}); err != nil {
		return nil, err
	}
	a, err := p.server.call(request{Do: doServe})
	if err != nil {
		return nil, err
	}
	p.invitation = a.Invitation
	if p.proxy, err = newProxy(a.Address); err != nil {
		return nil, err
	}
	p.client, _, err = r.open(filepath.Join(dir, "client"),
		request{Sync: r.job.Sync, Invitation: a.Invitation, ID: noRecord})
	return p, err
}

// sync connects the client, which then has all records.
func (p *pair) sync() (nanoseconds float64, t traffic, err error) { return p.meet(p.client) }

// meet connects a client, which then has all records.
func (p *pair) meet(client *program) (nanoseconds float64, t traffic, err error) {
	p.proxy.take()
	a, err := client.call(
		request{Do: doSync, Address: p.proxy.address(), Records: len(p.items)})
	return a.Nanoseconds, p.proxy.take(), err
}

// close ends both programs.
func (p *pair) close() error {
	err := p.run.close(p.client)
	if closed := p.run.close(p.server); err == nil {
		err = closed
	}
	if closed := p.proxy.close(); err == nil {
		err = closed
	}
	return err
}

// firstOf measures the first sync of n records, and connecting again.
func (r *run) firstOf(n int) error {
	p, err := r.pair("first", n)
	if err != nil {
		return supported(err)
	}
	at := func(row string) suite.At { return suite.At{Row: row, X: float64(n)} }
	took, sent, err := p.sync()
	if err != nil {
		return err
	}
	r.record(at(rowFirst), took)
	r.record(at(rowBytes), float64(sent.bytes))
	for i, program := range []*program{p.server, p.client} {
		a, err := program.call(request{Do: doMemory})
		if err != nil {
			return err
		}
		state := at(rowMemory)
		state.State = []string{"server", "client"}[i]
		r.record(state, a.Peak)
	}
	if err := check(p.client, p.items); err != nil {
		return err
	}
	if r.job.Wants(rowMerge) {
		if err := supported(p.merge(at(rowMerge))); err != nil {
			return fmt.Errorf("merge: %w", err)
		}
	}
	if r.job.Wants(rowAgain, rowAgainB, rowAgainT) {
		if err := p.again(at); err != nil {
			return fmt.Errorf("connect again: %w", err)
		}
	}
	if r.job.Wants(rowStart, rowStartB) {
		if err := supported(p.pruned(at)); err != nil {
			return fmt.Errorf("prune: %w", err)
		}
	}
	return p.close()
}

// pruned measures the first sync of another client once the server has pruned the history.
func (p *pair) pruned(at func(row string) suite.At) error {
	if _, err := p.server.call(request{Do: doPrune}); err != nil {
		return err
	}
	other, _, err := p.run.open(filepath.Join(p.dir, "newcomer"),
		request{Sync: p.run.job.Sync, Invitation: p.invitation, ID: noRecord})
	if err != nil {
		return err
	}
	took, sent, err := p.meet(other)
	if err == nil {
		err = check(other, p.items)
	}
	if err != nil {
		return err
	}
	p.run.record(at(rowStart), took)
	p.run.record(at(rowStartB), float64(sent.bytes))
	return p.run.close(other)
}

// merge measures taking all from a file.
func (p *pair) merge(at suite.At) error {
	file := filepath.Join(p.dir, "file")
	if _, err := p.server.call(request{Do: doExport, File: file}); err != nil {
		return err
	}
	other, _, err := p.run.open(filepath.Join(p.dir, "other"),
		request{Sync: p.run.job.Sync, Invitation: p.invitation, ID: noRecord})
	if err != nil {
		return err
	}
	a, err := other.call(request{Do: doImport, File: file})
	if err != nil {
		return err
	}
	n := float64(len(p.items))
	p.run.record(at, n/(a.Nanoseconds/1e9))
	if err := check(other, p.items); err != nil {
		return err
	}
	return p.run.close(other)
}

// again measures connecting when there is nothing new.
func (p *pair) again(at func(row string) suite.At) error {
	var took, bytes, turns []float64
	for range p.run.plan.again {
		ns, sent, err := p.sync()
		if err != nil {
			return err
		}
		took, bytes = append(took, ns), append(bytes, float64(sent.bytes))
		turns = append(turns, float64(sent.turns))
	}
	p.run.record(at(rowAgain), took...)
	p.run.record(at(rowAgainB), bytes...)
	p.run.record(at(rowAgainT), turns...)
	return nil
}
