package main

import (
	"context"
	"fmt"

	"github.com/stoatdb/stoat/internal/commands/cmdline"
	"github.com/stoatdb/stoat/internal/commands/columns"
	"github.com/stoatdb/stoat/internal/commands/progress"
	"github.com/stoatdb/stoat/remote"
)

func statusCommand() *command {
	flags := cmdline.NewFlags()
	asJSON := jsonFlag(flags)
	p := priceFlags(flags)
	return &command{
		Name: "status", Arguments: "STORE", Summary: "show what is in a store, and what that costs",
		Details: `
Reads only the store, so it needs no writer. Commits from "oldest" on can be
restored. "past" is the part that restoring the newest commit does not need; it
is kept for the retention and for pins. Times are by the clocks of writers. The
prices are those of S3 in us-east-1 ($0.40, $0.023 and $5), unless flags say
others.`,
		Min: 1, Max: 1, Flags: flags,
		Run: func(ctx context.Context, s *stdio, args []string) error {
			store, err := s.openStore(ctx, args[0])
			if err != nil {
				return err
			}
			info, err := remote.Inspect(ctx, store)
			switch {
			case err != nil:
				return err
			case *asJSON:
				return writeJSON(s, statusOf(info, p))
			}
			return printStatus(s, info, p)
		},
	}
}

// statusJSON is what is in a store.
type statusJSON struct {
	Database string               `json:"database"`
	Epoch    uint64               `json:"epoch"`
	Writers  []writerJSON         `json:"writers"` // the newest one first
	Newest   momentJSON           `json:"newest"`
	Oldest   momentJSON           `json:"oldest"`
	Pins     []pinJSON            `json:"pins"`
	Origin   *originJSON          `json:"origin,omitempty"` // of a clone that needs its parent
	Usage    map[string]usageJSON `json:"usage"`
	Price    *prices              `json:"price"`
	PerMonth float64              `json:"per_month"` // for storage, in the currency of the prices
}

// writerJSON is a writer.
type writerJSON struct {
	Epoch uint64 `json:"epoch"`
	Name  string `json:"name"`
	Since string `json:"since"`
}

// momentJSON is a commit, and when it was shipped.
type momentJSON struct {
	Commit uint64 `json:"commit"`
	Time   string `json:"time,omitempty"`
}

// originJSON is what a clone has of its parent.
type originJSON struct {
	Name   string    `json:"name"`
	Commit uint64    `json:"commit"`
	Pin    string    `json:"pin"`    // in the parent
	Needed usageJSON `json:"needed"` // files of the parent
}

// usageJSON is what objects take.
type usageJSON struct {
	Objects int   `json:"objects"`
	Bytes   int64 `json:"bytes"`
}

// kindOfUsage is a kind of objects, and what they take.
type kindOfUsage struct {
	name string
	of   remote.Usage
}

// kinds returns what objects take by their kinds, which do not overlap.
func kinds(info *remote.Info) []kindOfUsage {
	return []kindOfUsage{
		{"log", info.Log}, {"states", info.States}, {"tables", info.Tables}, {"values", info.Values},
		{"pins", info.Pinned}, {"other", info.Other},
	}
}

// allOf returns what all objects take.
func allOf(info *remote.Info) (all remote.Usage) {
	for _, k := range kinds(info) {
		all.Objects += k.of.Objects
		all.Bytes += k.of.Bytes
	}
	return all
}

func statusOf(info *remote.Info, p *prices) *statusJSON {
	all := allOf(info)
	st := &statusJSON{
		Database: uuidText(info.Database), Writers: []writerJSON{}, Pins: pinsOf(info.Pins),
		Newest: momentJSON{info.Newest.Commit, timeText(info.Newest.Time)},
		Oldest: momentJSON{info.Oldest.Commit, timeText(info.Oldest.Time)},
		Usage:  map[string]usageJSON{"all": usageJSON(all), "past": usageJSON(info.Past)},
		Price:  p, PerMonth: p.month(all.Bytes),
	}
	for i, w := range info.Writers {
		if i == 0 {
			st.Epoch = w.Epoch
		}
		st.Writers = append(st.Writers, writerJSON{w.Epoch, w.Name, timeText(w.Since)})
	}
	for _, k := range kinds(info) {
		st.Usage[k.name] = usageJSON(k.of)
	}
	if o := info.Origin; o != nil {
		st.Origin = &originJSON{o.Name, o.Commit, o.Pin, usageJSON(o.Needed)}
	}
	return st
}

// printStatus prints what is in a store for people.
func printStatus(s *stdio, info *remote.Info, p *prices) error {
	t := facts(s)
	oldest := momentText(info.Oldest)
	if info.Oldest.Commit == 0 {
		oldest = "the first one"
	}
	for _, row := range [][2]string{
		{"database", uuidText(info.Database)},
		{"newest", momentText(info.Newest)},
		{"oldest", oldest},
	} {
		if err := t.Row(row[0], row[1]); err != nil {
			return err
		}
	}
	for i, w := range info.Writers {
		label := ""
		if i == 0 {
			label = "writer"
		}
		err := t.Row(label, fmt.Sprintf("epoch %d  %s  %s", w.Epoch, timeText(w.Since), w.Name))
		if err != nil {
			return err
		}
	}
	for _, pin := range info.Pins {
		if err := t.Row("pin", momentText(remote.Moment{Commit: pin.Commit, Time: pin.Time})+
			"  "+pin.Name); err != nil {
			return err
		}
	}
	if o := info.Origin; o != nil {
		if err := printOrigin(t, o); err != nil {
			return err
		}
	}
	if err := printUsage(s, info); err != nil {
		return err
	}
	return p.print(s, allOf(info).Bytes)
}

// printOrigin prints what a clone has of its parent.
func printOrigin(t *columns.Table, o *remote.OriginInfo) error {
	needs := "nothing of it"
	if o.Needed.Objects > 0 {
		needs = fmt.Sprintf("%s of it, %s", progress.Counted(int64(o.Needed.Objects), "file"),
			progress.Bytes(float64(o.Needed.Bytes)))
	}
	for _, row := range [][2]string{
		{"clone of", momentText(remote.Moment{Commit: o.Commit}) + "  " + o.Name},
		{"needs", needs},
		{"its pin", o.Pin},
	} {
		if err := t.Row(row[0], row[1]); err != nil {
			return err
		}
	}
	return nil
}

// printUsage prints what objects take.
func printUsage(s *stdio, info *remote.Info) error {
	t := &columns.Table{Out: s.out, Widths: []int{labelColumns, -11, -9}}
	all := append(kinds(info), kindOfUsage{"all", allOf(info)}, kindOfUsage{"past", info.Past})
	if err := t.Row("\nkind", "objects", "bytes"); err != nil {
		return err
	}
	for _, k := range all {
		if k.of.Objects == 0 {
			continue
		}
		err := t.Row(k.name, progress.Count(int64(k.of.Objects)), progress.Bytes(float64(k.of.Bytes)))
		if err != nil {
			return err
		}
	}
	return nil
}
