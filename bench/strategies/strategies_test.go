package strategies

import (
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/bench/suite"
)

// eachLayout runs fn with every strategy that takes the data, on an empty database of every engine.
func eachLayout(t *testing.T, d *Data, fn func(t *testing.T, db DB, l layout)) {
	t.Helper()
	all := Strategies()
	if d.schema.structure == reflect.TypeFor[User]() {
		all = forUsers()
	}
	for _, e := range engines() {
		for _, s := range all {
			if !s.on(e.Name) {
				continue
			}
			t.Run(e.Name+"/"+s.Name, func(t *testing.T) {
				db, err := open(e.Name, t.TempDir(), false)
				if err != nil {
					t.Fatal(err)
				}
				defer func() { ok(t, db.Close()) }()
				l := s.make(d.schema)
				if p, has := l.(preparer); has {
					ok(t, p.prepare(db))
				}
				fn(t, db, l)
			})
		}
	}
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func users(t testing.TB, seed uint64) *Data {
	t.Helper()
	d, err := Users(seed)
	ok(t, err)
	return d
}

// write stores the records 0 to n-1.
func write(t testing.TB, db DB, l layout, d *Data, n int) {
	t.Helper()
	ok(t, db.Update(func(root Bucket) error {
		for id := range n {
			r := d.schema.newRecord()
			d.fill(r, id)
			if err := l.write(root, id, r); err != nil {
				return err
			}
		}
		return nil
	}))
}

// verify compares all records, read one by one and together, with what change makes of them.
func verify(t testing.TB, db DB, l layout, d *Data, n int, change func(id int, r Record)) {
	t.Helper()
	ok(t, db.View(func(root Bucket) error {
		want, got, all := d.schema.newRecord(), d.schema.newRecord(), d.schema.newRecords(n)
		if err := l.readMany(root, 0, all); err != nil {
			return err
		}
		var sum float64
		for id := range n {
			d.fill(want, id)
			change(id, want)
			sum += number(want.fields[d.sum])
			got.clear()
			if err := l.read(root, id, got); err != nil {
				return err
			}
			for how, r := range map[string]Record{"alone": got, "with others": all[id]} {
				if f := want.difference(r); f >= 0 {
					t.Fatalf("record %d, read %s, has another %s: %+v instead of %+v",
						id, how, d.schema.names[f], r.whole, want.whole)
				}
			}
		}
		if total, err := l.sum(root, n, d.sum); err != nil || total != sum {
			t.Errorf("sum %v, %v; it is %v", total, err, sum)
		}
		return nil
	}))
}

func unchanged(int, Record) {}

func TestLayouts_returnWhatWasWritten(t *testing.T) {
	d := users(t, 1)
	eachLayout(t, d, func(t *testing.T, db DB, l layout) {
		write(t, db, l, d, 40)
		verify(t, db, l, d, 40, unchanged)
	})
}

func TestLayouts_updateOneFieldOfOneRecord(t *testing.T) {
	d := users(t, 2)
	from := d.schema.newRecord()
	d.fill(from, 1000)
	eachLayout(t, d, func(t *testing.T, db DB, l layout) {
		const n = 2
		write(t, db, l, d, n)
		first := 0
		if _, keyed := l.(*records); keyed {
			first = 1 // the field before is the key, which cannot be set
		}
		for f := first; f < len(d.schema.names); f++ {
			ok(t, db.Update(func(root Bucket) error { return l.update(root, 1, f, from) }))
			verify(t, db, l, d, n, func(id int, r Record) {
				for i := first; id == 1 && i <= f; i++ {
					copyField(r.fields[i], from.fields[i])
				}
			})
		}
	})
}

func TestLayouts_addUpAnyField(t *testing.T) {
	d := users(t, 3)
	eachLayout(t, d, func(t *testing.T, db DB, l layout) {
		write(t, db, l, d, 5)
		for d.sum = range d.schema.names {
			verify(t, db, l, d, 5, unchanged)
		}
	})
}

func TestLayouts_noticeAMissingRecord(t *testing.T) {
	d := users(t, 4)
	eachLayout(t, d, func(t *testing.T, db DB, l layout) {
		write(t, db, l, d, 3)
		ok(t, db.View(func(root Bucket) error {
			if err := l.read(root, 3, d.schema.newRecord()); err == nil {
				t.Error("read record 3 of 3 without an error")
			}
			if err := l.readMany(root, 1, d.schema.newRecords(3)); err == nil {
				t.Error("read records 1 to 3 of 3 without an error")
			}
			if _, err := l.sum(root, 4, d.sum); err == nil {
				t.Error("added up 4 of 3 records without an error")
			}
			return nil
		}))
		ok(t, db.Update(func(root Bucket) error {
			if err := l.update(root, 3, d.update, d.schema.newRecord()); err == nil {
				_, isMultiKV := l.(*multiKV) // which writes without reading
				if !isMultiKV {
					t.Error("updated record 3 of 3 without an error")
				}
			}
			return nil
		}))
	})
}

// tinyJob is a job with few records.
func tinyJob(t testing.TB, engine string, n int) suite.Job {
	t.Helper()
	return suite.Job{
		Suite: "strategies", Engine: engine, Round: 1, Dir: t.TempDir(),
		Settings: suite.Settings{Profile: suite.Quick, Rounds: 1, N: n, Seed: 1},
	}
}

func TestSuite_measuresEveryRowOfEveryStrategy(t *testing.T) {
	s := Suite()
	for _, e := range s.Engines() {
		got := make(map[suite.At]int)
		job := tinyJob(t, e.Name, 7)
		for _, task := range s.Tasks(job.Settings) {
			job.Task = task.Name
			ok(t, s.Run(job, func(at suite.At, values ...float64) { got[at] += len(values) }))
		}
		for _, row := range s.Rows {
			for _, state := range row.States {
				if state == strategyRecord && e.Name != "stoat" {
					continue
				}
				at := suite.At{Row: row.Name, State: state, X: 7}
				if got[at] == 0 {
					t.Errorf("%s: no samples of %v", e.Name, at)
				}
				delete(got, at)
			}
		}
		for at := range got {
			t.Errorf("%s: samples of %v, which is nothing declared", e.Name, at)
		}
	}
}

func TestSuite_measuresOnlyWhatIsWanted(t *testing.T) {
	s := Suite()
	for _, row := range s.Rows {
		job := tinyJob(t, "bbolt", 9)
		job.Task, job.Rows = taskName("binary", 9), []string{row.Name}
		var got []string
		ok(t, s.Run(job, func(at suite.At, _ ...float64) { got = append(got, at.Row) }))
		if got = slices.Compact(got); len(got) != 1 || got[0] != row.Name {
			t.Errorf("wanted %s, got %v", row.Name, got)
		}
	}
}

func TestSuite_rejectsUnknownTasks(t *testing.T) {
	for _, task := range []string{"", "binary", "binary/", "binary/0", "binary/x", "poem/10"} {
		job := tinyJob(t, "bbolt", 10)
		job.Task = task
		if err := Suite().Run(job, func(suite.At, ...float64) {}); err == nil {
			t.Errorf("task %q: no error", task)
		}
	}
	job := tinyJob(t, "poem", 10)
	job.Task = taskName("binary", 10)
	if err := Suite().Run(job, func(suite.At, ...float64) {}); err == nil {
		t.Error("engine poem: no error")
	}
}

func TestMeasure_writesASampleOnTopOfManyRecords(t *testing.T) {
	job := tinyJob(t, "bbolt", 251)
	samples := make(map[string]int)
	count := func(at suite.At, values ...float64) { samples[at.Row] += len(values) }
	ok(t, Measure(job, users(t, 1), "binary", 251, count))
	if samples[rowSingle] != 1 || samples[rowUpdate] != 1 || samples[rowRead] != 3 {
		t.Errorf("samples %v", samples)
	}
}

// liar is a database that does not do what it is told.
type liar struct {
	DB
	lie string
}

func (l liar) View(fn func(root Bucket) error) error {
	return l.DB.View(func(root Bucket) error { return fn(lyingBucket{root, l.lie}) })
}

func (l liar) Update(fn func(root Bucket) error) error {
	return l.DB.Update(func(root Bucket) error { return fn(lyingBucket{root, l.lie}) })
}

// honest is a [Bucket] that can be embedded next to its method of that name.
type honest interface{ Bucket }

// lyingBucket is a bucket of a liar.
type lyingBucket struct {
	honest
	lie string
}

// wrong returns a value of the same length with another last bit.
func wrong(value []byte) []byte {
	value = slices.Clone(value)
	if len(value) > 0 {
		value[len(value)-1] ^= 1
	}
	return value
}

func (b lyingBucket) Get(key []byte) ([]byte, error) {
	value, err := b.honest.Get(key)
	if b.lie == "get" {
		value = wrong(value)
	}
	return value, err
}

func (b lyingBucket) Put(key, value []byte) error {
	if b.lie == "put" && key[keyBytes-1] == 4 {
		value = wrong(value)
	}
	return b.honest.Put(key, value)
}

func (b lyingBucket) Scan(start, end []byte) iter.Seq2[[]byte, []byte] {
	return b.loop(b.honest.Scan(start, end))
}

func (b lyingBucket) Heads(start, end []byte, n int) iter.Seq2[[]byte, []byte] {
	return b.loop(b.honest.Heads(start, end, n))
}

// loop leaves the first pair out if that is the lie.
func (b lyingBucket) loop(pairs iter.Seq2[[]byte, []byte]) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		first := true
		for key, value := range pairs {
			if b.lie == "scan" && first {
				first = false
				continue
			}
			if !yield(key, value) {
				return
			}
		}
	}
}

// openLiar returns a function that opens bbolt as a liar.
func openLiar(lie string) func(dir string) (DB, error) {
	return func(dir string) (DB, error) {
		db, err := open("bbolt", dir, false)
		return liar{db, lie}, err
	}
}

func TestMeasure_noticesWrongAnswers(t *testing.T) {
	for _, c := range []struct{ lie, strategy, row string }{
		{"get", "binary", rowRead},
		{"get", "multikv", rowSum},
		{"scan", "binary", rowReadMany},
		{"scan", "binary", rowSum},
		{"scan", "multikv", rowRead},
		{"put", "binary", rowRead},
		{"put", "binary", rowReadMany},
		{"put", "multikv", rowSingle},
		{"put", "binary+names", rowUpdate},
	} {
		d := users(t, 1)
		s, err := findStrategy(c.strategy)
		ok(t, err)
		job := tinyJob(t, "bbolt", 12)
		job.Rows = []string{c.row}
		r := newRun(job, newPlan(job.Settings, 12), d, s)
		r.open, r.out = openLiar(c.lie), func(string, ...float64) {}
		if err := r.all(); err == nil {
			t.Errorf("%+v: no error", c)
		}
	}
}

func TestMeasure_writesInBulkMoreThanItMakesAhead(t *testing.T) {
	d := users(t, 1)
	const n = 11
	for _, c := range []struct{ bytes, want int }{{1, 1}, {3000, 4}, {aheadBytes, n}} {
		if got := d.ahead(n, c.bytes); got != c.want {
			t.Errorf("%d records are made ahead in %d bytes", got, c.bytes)
		}
		for _, s := range forUsers() {
			job := tinyJob(t, "bbolt", n)
			if !s.on(job.Engine) {
				job.Engine = "stoat"
			}
			r := newRun(job, newPlan(job.Settings, n), d, s)
			r.open, r.out, r.ahead = opener(job), func(string, ...float64) {}, c.bytes
			if err := r.all(); err != nil { // it adds up the field of all records
				t.Errorf("%s, %d bytes: %v", s.Name, c.bytes, err)
			}
		}
	}
}

func TestData_makesNoMoreAheadThanItsLimit(t *testing.T) {
	if got := users(t, 1).ahead(1_000_000, aheadBytes); got != aheadRecords {
		t.Errorf("%d records are made ahead", got)
	}
}

func TestTasks_takeTheCountsOfTheProfile(t *testing.T) {
	for _, c := range []struct {
		settings suite.Settings
		want     string
	}{
		{suite.Settings{Profile: suite.Quick}, "100 1000 10000"},
		{suite.Settings{Profile: suite.Full, N: 33}, "33"},
		{suite.Settings{Profile: suite.Large},
			"10 100 1000 10000 25000 50000 75000 100000 250000 500000 750000 1000000"},
	} {
		var counts []string
		all := tasks(c.settings)
		if first := (suite.Task{Name: taskConform, Rounds: 1, Gate: true}); all[0] != first {
			t.Errorf("%+v: the first task is %+v", c.settings, all[0])
		}
		for _, task := range all[1:] {
			_, n, _ := strings.Cut(task.Name, "/")
			counts = append(counts, n)
		}
		if got := strings.Join(slices.Compact(counts), " "); got != c.want {
			t.Errorf("%+v: %s instead of %s", c.settings, got, c.want)
		}
	}
}

func TestPlan_samplesSlowTransactionsOnly(t *testing.T) {
	for _, c := range []struct {
		profile string
		synced  bool
		n       int
		want    plan
	}{
		{suite.Quick, true, 100, plan{n: 100, cycles: 2, reads: 3, singles: 100, updates: 50}},
		{suite.Quick, true, 10_000,
			plan{n: 10_000, cycles: 1, reads: 3, singles: 200, onTop: true, updates: 200}},
		{suite.Full, true, 10, plan{n: 10, cycles: 10, reads: 3, singles: 10, updates: 5}},
		{suite.Full, true, 25_000,
			plan{n: 25_000, cycles: 1, reads: 3, singles: 25_000, updates: 12_500}},
		{suite.Full, true, 50_000,
			plan{n: 50_000, cycles: 1, reads: 3, singles: 10_000, onTop: true, updates: 10_000}},
		{suite.Full, false, 50_000,
			plan{n: 50_000, cycles: 1, reads: 3, singles: 50_000, updates: 25_000}},
	} {
		got := newPlan(suite.Settings{Profile: c.profile, Sync: c.synced}, c.n)
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s, %d records: %+v instead of %+v", c.profile, c.n, got, c.want)
		}
	}
}

func TestRecord_isNotForOtherDatabasesAndRecords(t *testing.T) {
	own, _ := objects(t, `{"n":1}`)
	for _, c := range []struct {
		engine string
		data   *Data
	}{{"bbolt", users(t, 1)}, {"stoat", own}} {
		err := Measure(tinyJob(t, c.engine, 5), c.data, "record", 5, func(suite.At, ...float64) {})
		if err == nil || !strings.Contains(err.Error(), "package record needs") {
			t.Errorf("%s: %v", c.engine, err)
		}
	}
}

func TestRecord_isStoredByThePackageRecord(t *testing.T) {
	db, err := stoat.OpenMemory(nil)
	ok(t, err)
	defer func() { ok(t, db.Close()) }()
	d := users(t, 1)
	l := &records{schema: d.schema, scratch: d.schema.newRecord()}
	ok(t, l.prepare(stoatDB{db}))
	write(t, stoatDB{db}, l, d, 30)
	ok(t, db.View(func(tx *stoat.Tx) error { return l.users.Verify(tx) }))
}
