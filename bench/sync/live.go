package sync

import (
	"fmt"
	"slices"

	"github.com/stoatdb/stoat/bench/suite"
)

// lively is the task "live".
func (r *run) lively() error {
	if r.local {
		return nil
	}
	p, err := r.pair("live", r.plan.records)
	if err != nil {
		return supported(err)
	}
	if _, _, err := p.sync(); err != nil {
		return err
	}
	for _, step := range []struct {
		rows []string
		do   func() error
	}{
		{[]string{rowChanged}, p.changed}, {[]string{rowLive, rowLive99}, p.live},
		{[]string{rowIdle}, p.idle},
	} {
		if !r.job.Wants(step.rows...) {
			continue
		}
		if err := supported(step.do()); err != nil {
			return fmt.Errorf("%s: %w", step.rows[0], err)
		}
	}
	return p.close()
}

// changed measures connecting again after changes by several devices, of which none is new.
func (p *pair) changed() error {
	most := slices.Max(p.run.plan.devices)
	for i, devices := range append([]int{most}, p.run.plan.devices...) {
		devices = min(devices, len(p.items))
		count := int64(-1 - i)
		_, err := p.server.call(request{Do: doChange, To: devices, Count: count})
		if err != nil {
			return err
		}
		for j := range devices {
			p.items[j].Count = count
		}
		_, sent, err := p.sync()
		if err == nil {
			err = check(p.client, p.items)
		}
		if err != nil {
			return err
		}
		if i > 0 {
			p.run.record(suite.At{Row: rowChanged, X: float64(devices)}, float64(sent.bytes))
		}
	}
	return nil
}

// live measures how long changes take to the connected client. The first is not recorded.
func (p *pair) live() error {
	if _, err := p.client.call(request{Do: doFollow, Address: p.proxy.address()}); err != nil {
		return err
	}
	var samples []float64
	for i := range p.run.plan.live + 1 {
		id, count := int64(i*7919%len(p.items)), int64(1)<<32+int64(i)
		if err := p.client.send(request{Do: doAwait, ID: id, Count: count}); err != nil {
			return err
		}
		put, err := p.server.call(request{Do: doPut, ID: id, Count: count})
		if err != nil {
			return err
		}
		seen, err := p.client.receive(doAwait)
		if err != nil {
			return err
		}
		p.items[id].Count = count
		samples = append(samples, 1_000*(max(seen.At, put.Durable)-put.At))
	}
	p.run.record(suite.At{Row: rowLive}, samples[1:]...)
	p.run.record(suite.At{Row: rowLive99}, p99(samples[1:]))
	return check(p.client, p.items)
}

// idle measures what the server needs for connected clients.
func (p *pair) idle() error {
	before, err := p.server.call(request{Do: doMemory})
	if err != nil {
		return err
	}
	n := p.run.plan.idle
	_, err = p.client.call(request{Do: doIdle, Address: p.proxy.address(), Records: n})
	if err != nil {
		return err
	}
	p.proxy.take() // they are connected once nothing is sent any more
	after, err := p.server.call(request{Do: doMemory})
	if err == nil {
		p.run.record(suite.At{Row: rowIdle}, (after.Resident-before.Resident)/float64(n))
	}
	return err
}
