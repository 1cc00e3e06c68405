package stress

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica"
)

// describe returns what replicas have, and wait for.
func (w *world) describe() string {
	var b bytes.Buffer
	all := w.vectors()
	for i, m := range w.members {
		l := m.life.Load()
		fmt.Fprintf(&b, "%s:", m.name)
		for log := range all[0] {
			fmt.Fprintf(&b, " %s %d", log.String()[:6], all[i][log])
		}
		err := l.db.View(func(tx *stoat.Tx) error {
			st, err := l.space.Status(tx)
			if err == nil {
				fmt.Fprintf(&b, "\n   missing %+v withheld %+v start %v split %v checkpoints %d pruned %v\n"+
					"   waits %v refused %v", st.Missing, st.Withheld, st.Start, st.Split, st.Checkpoints,
					st.Pruned, st.Waiting, st.Refusals)
			}
			return err
		})
		fmt.Fprintln(&b, "", err)
	}
	return b.String()
}

// explain logs which entries count an item, for each item that is not counted once.
func (w *world) explain(tx *stoat.Tx, l *life) error {
	void := map[replica.EntryID]*replica.Void{}
	for v, err := range l.space.Void(tx) {
		if err != nil {
			return err
		}
		void[v.EntryID] = v
	}
	heads, err := l.space.Heads(tx)
	if err != nil {
		return err
	}
	counted := map[string]int64{}
	by := map[string][]string{}
	for _, h := range heads {
		for e, err := range l.space.Entries(tx, h.Log, 0, h.Entries) {
			if err != nil {
				return err
			}
			key, n := counts(e)
			if key == "" && n == 0 && e.Act == "" {
				continue
			}
			text := fmt.Sprintf("%s %d at %s: %d %s", h.Log.String()[:6], e.Seq,
				e.Time.Format("05.000"), n, e.Act)
			if v := void[e.EntryID]; v != nil {
				text += fmt.Sprintf(", void in %v, repeated %v: %s", v.Collections, v.Repeated, v.Reason)
			} else {
				counted[key] += n
			}
			by[key] = append(by[key], text)
		}
	}
	for key, all := range by {
		if counted[key] != 1 {
			w.t.Logf("%q:\n   %s", key, strings.Join(all, "\n   "))
		}
	}
	return nil
}

// counts returns which item an entry makes, and how much it adds to the total.
func counts(e *replica.Entry) (key string, n int64) {
	for _, c := range e.Changes {
		if c.Collection != "items" {
			continue
		}
		k, _ := c.Key[0].(string)
		for _, f := range c.Fields {
			switch {
			case k == totalKey && f.Field == "count":
				n, _ = f.Value.(int64)
			case k != totalKey && f.Field == "owner":
				key = k
			}
		}
	}
	return key, n
}
