package browser

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/feed"
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/hook"
	"github.com/stoatdb/stoat/record"
)

// customer is a record of the shop.
type customer struct {
	ID    int64     `stoat:"id,key"`
	Name  string    `stoat:"name"`
	City  string    `stoat:"city,index"`
	Age   int32     `stoat:"age,index"`
	Tags  []string  `stoat:"tags,index"`
	Since time.Time `stoat:"since"`
}

// event is an entry of the shop's feed.
type event struct {
	Kind  string
	Order int
	Cents int
}

// shop returns the database that the pictures show. Its sizes are small so that it has levels.
func shop(t *testing.T) *stoat.DB {
	t.Helper()
	opts := new(stoat.Options)
	detach := hook.Attach(opts, hook.Settings{Tuning: engine.Tuning{
		MemtableBytes: 192 << 10, TableBytes: 24 << 10, YoungRuns: 7, IdleAfter: time.Hour,
	}})
	db, err := stoat.Open(t.TempDir(), opts)
	detach()
	ok(t, err)
	t.Cleanup(func() { ok(t, db.Close()) })
	random := rand.New(rand.NewPCG(1, 2))
	fillCustomers(t, db, random)
	fillEvents(t, db)
	fillOrders(t, db, random, 0, 12_000)
	ok(t, db.Compact(context.Background()))
	for round := range 4 {
		fillOrders(t, db, random, 2_000*round, 1_400)
	}
	fillSessions(t, db, random)
	return db
}

func fillCustomers(t *testing.T, db *stoat.DB, random *rand.Rand) {
	t.Helper()
	customers, err := record.Open[customer](db, "customers", nil)
	ok(t, err)
	names := []string{"Ada", "Bela", "Chen", "Dora", "Emil", "Fatma", "Goran", "Hana", "Ivo", "Jun"}
	cities := []string{"Ulm", "Köln", "Graz", "Bern", "Lyon", "Gent"}
	tags := []string{"news", "gold", "b2b", "returns"}
	ok(t, db.Update(func(tx *stoat.Tx) error {
		for i := range 900 {
			c := &customer{
				ID: int64(i + 1), Name: names[random.IntN(len(names))] + fmt.Sprintf(" %c.", 'A'+i%26),
				City: cities[random.IntN(len(cities))], Age: int32(18 + random.IntN(60)),
				Tags:  tags[:random.IntN(len(tags))],
				Since: time.Date(2020+random.IntN(6), time.Month(1+i%12), 1+i%28, 9, 0, 0, 0, time.UTC),
			}
			if err := customers.Put(tx, c); err != nil {
				return err
			}
		}
		return nil
	}))
}

func fillEvents(t *testing.T, db *stoat.DB) {
	t.Helper()
	events, err := feed.Open(db, "events", &feed.Options[event]{
		Sublogs: map[string]func(*event) []string{
			"kind": func(e *event) []string { return []string{e.Kind} },
		},
	})
	ok(t, err)
	kinds := []string{"ordered", "paid", "sent", "returned"}
	ok(t, db.Update(func(tx *stoat.Tx) error {
		for i := range 640 {
			if _, err := events.Append(tx, &event{kinds[i%4], 10_000 + i/4, 990 + i*7%9000}); err != nil {
				return err
			}
		}
		return errors.Join(events.SetCursor(tx, "invoices", 640), events.SetCursor(tx, "mailer", 612),
			events.SetCursor(tx, "statistics", 230))
	}))
}

func fillOrders(t *testing.T, db *stoat.DB, random *rand.Rand, from, n int) {
	t.Helper()
	ok(t, db.Update(func(tx *stoat.Tx) error {
		orders, err := tx.CreateBucketIfNotExists([]byte("orders"))
		if err != nil {
			return err
		}
		for i := from; i < from+n; i++ {
			value := fmt.Sprintf(`{"order":%d,"customer":%d,"lines":[{"sku":"%08x","n":%d,"cents":%d}],`+
				`"paid":%t,"note":null}`, i, random.IntN(900), random.Uint32(), 1+random.IntN(3),
				100+random.IntN(9000), random.IntN(5) > 0)
			if err := orders.Put(fmt.Appendf(nil, "order/%06d", i), []byte(value)); err != nil {
				return err
			}
		}
		return nil
	}))
}

func fillSessions(t *testing.T, db *stoat.DB, random *rand.Rand) {
	t.Helper()
	ok(t, db.Update(func(tx *stoat.Tx) error {
		cache, err := tx.CreateBucketIfNotExists([]byte("cache"))
		if err != nil {
			return err
		}
		for _, name := range []string{"pages", "sessions", "thumbnails"} {
			b, err := cache.CreateBucketIfNotExists([]byte(name))
			if err != nil {
				return err
			}
			for range 60 {
				value := make([]byte, 64+random.IntN(900))
				for i := range value {
					value[i] = byte(random.Uint32())
				}
				if err := b.Put(value[:12], value); err != nil {
					return err
				}
			}
		}
		return nil
	}))
}

// sell keeps writing orders until the test ends, so that there is something to see.
func sell(t *testing.T, db *stoat.DB) {
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		random := rand.New(rand.NewPCG(3, 4))
		tick := time.NewTicker(150 * time.Millisecond)
		defer tick.Stop()
		for i := 0; ; i++ {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				fillOrders(t, db, random, random.IntN(11_000), 20+i*7%60)
			}
		}
	}()
	t.Cleanup(func() { // before the database is closed
		stop()
		<-ended
	})
}
