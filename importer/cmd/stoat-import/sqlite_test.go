package main

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/tuple"
)

// sqliteFile returns the path of a new database of SQLite, and the open database.
func sqliteFile(t testing.TB, statements ...string) (string, *sql.DB) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "so?u%rce #1.db")
	db, err := sql.Open("sqlite", "file:"+strings.NewReplacer("?", "%3f", "%", "%25", "#", "%23").
		Replace(name))
	ok(t, err)
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { ok(t, db.Close()) })
	for _, statement := range statements {
		if _, err := db.Exec(statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	return name, db
}

func TestSQLite_importsRowsAsJSON(t *testing.T) {
	file, _ := sqliteFile(t,
		`CREATE TABLE users (name TEXT PRIMARY KEY, age INTEGER, score REAL, photo BLOB, at DATETIME,
			yes BOOLEAN, twice INT AS (age * 2))`,
		`INSERT INTO users VALUES ('ann', 30, 1.5, x'00ff', '2020-01-02 03:04:05', 1)`,
		`INSERT INTO users VALUES ('bob "x"' || char(10), NULL, 2, x'', NULL, 'no')`,
		`INSERT INTO users VALUES ('cyd', 9223372036854775807, 9e999, 'text', 5, 0.25)`,
		`CREATE TABLE empty (a)`,
		`CREATE VIEW v AS SELECT * FROM users`,
	)
	db := filepath.Join(t.TempDir(), "db")
	r := imports(t, "-sqlite", file, "-bucket", "to", db)
	if r.Kind != "sqlite" || r.Source != file || r.Entries != 3 ||
		fmt.Sprint(r.Findings) != "[1 view left out]" {
		t.Errorf("the summary says %+v", r)
	}
	const columns = `"age":%s,"score":%s,"photo":%s,"at":%s,"yes":%s,"twice":%s}` + "\n"
	equal(t, dump(t, db), "to #0\nto/empty #0\nto/users #0\n"+
		`to/users/ann={"name":"ann",`+
		fmt.Sprintf(columns, "30", "1.5", `"AP8="`, `"2020-01-02 03:04:05"`, "1", "60")+
		"to/users/bob \"x\"\n={\"name\":\"bob \\\"x\\\"\\n\","+
		fmt.Sprintf(columns, "null", "2.0", `""`, "null", `"no"`, "null")+
		`to/users/cyd={"name":"cyd",`+
		fmt.Sprintf(columns, "9223372036854775807", "9e999", `"text"`, "5", "0.25",
			"1.8446744073709552e+19"))
}

// keysIn returns the keys of a bucket.
func keysIn(t testing.TB, dir, name string) (keys []string, sequence uint64) {
	t.Helper()
	db, err := stoat.Open(dir, &stoat.Options{ReadOnly: true})
	ok(t, err)
	ok(t, db.View(func(tx *stoat.Tx) error {
		b, err := tx.Bucket([]byte(name))
		ok(t, err)
		for key := range b.Keys(stoat.Range{}) {
			keys = append(keys, fmt.Sprintf("%x", key))
		}
		sequence, err = b.Sequence()
		return err
	}))
	ok(t, db.Close())
	return keys, sequence
}

func TestSQLite_makesKeysOfPrimaryKeys(t *testing.T) {
	file, _ := sqliteFile(t,
		`CREATE TABLE ids (id INTEGER PRIMARY KEY, x)`,
		`INSERT INTO ids VALUES (300, 1), (-2, 2), (5, 3)`,
		`CREATE TABLE none (x)`, `INSERT INTO none VALUES ('a'), ('b')`,
		`CREATE TABLE pairs (x, a TEXT, b INT, PRIMARY KEY (b, a)) WITHOUT ROWID`,
		`INSERT INTO pairs VALUES (1, 'x', 2), (2, 'w', 2), (3, 'z', 1)`,
		`CREATE TABLE blobs (id BLOB PRIMARY KEY)`, `INSERT INTO blobs VALUES (x'ff00')`,
		`CREATE TABLE any (id PRIMARY KEY)`, `INSERT INTO any VALUES ('1'), (1), (1.5), (x'31')`,
		`CREATE TABLE hidden (rowid TEXT, oid INT)`, `INSERT INTO hidden VALUES ('a', 1)`,
	)
	db := filepath.Join(t.TempDir(), "db")
	imports(t, "-sqlite", file, db)
	integers := func(n ...int64) (keys []string) {
		for _, n := range n {
			keys = append(keys, fmt.Sprintf("%x", tuple.AppendInt(nil, n)))
		}
		return keys
	}
	pair := func(b int64, a string) string {
		return fmt.Sprintf("%x", tuple.AppendString(tuple.AppendInt(nil, b), a))
	}
	for name, want := range map[string]struct {
		keys     []string
		sequence uint64
	}{
		"ids":    {integers(-2, 5, 300), 300},
		"none":   {integers(1, 2), 2},
		"hidden": {integers(1), 1},
		"pairs":  {[]string{pair(1, "z"), pair(2, "w"), pair(2, "x")}, 0},
		"blobs":  {[]string{"ff00"}, 0},
		"any": {[]string{integers(1)[0], fmt.Sprintf("%x", tuple.AppendFloat(nil, 1.5)),
			fmt.Sprintf("%x", tuple.AppendString(nil, "1")),
			fmt.Sprintf("%x", tuple.AppendBytes(nil, []byte("1")))}, 0},
	} {
		keys, sequence := keysIn(t, db, name)
		if fmt.Sprint(keys) != fmt.Sprint(want.keys) || sequence != want.sequence {
			t.Errorf("%s has the keys %v, sequence %d, want %v", name, keys, sequence, want)
		}
	}
	text := filepath.Join(t.TempDir(), "db")
	imports(t, "-sqlite", file, "-keys-as", "text", "-table", "ids", text)
	if keys, _ := keysIn(t, text, "ids"); fmt.Sprint(keys) != "[2d32 333030 35]" {
		t.Errorf("as text, the keys are %v", keys)
	}
	rowids := filepath.Join(t.TempDir(), "db")
	imports(t, "-sqlite", file, "-keys-as", "rowid", "-table", "blobs", rowids)
	if keys, _ := keysIn(t, rowids, "blobs"); fmt.Sprint(keys) != fmt.Sprint(integers(1)) {
		t.Errorf("as rowids, the keys are %v", keys)
	}
	fails(t, exitError, "-keys-as text needs one", "-sqlite", file, "-keys-as", "text", text)
	fails(t, exitError, `no table "nope"`, "-sqlite", file, "-table", "nope", text)
	fails(t, exitUsage, "must be tuple, text or rowid", "-sqlite", file, "-keys-as", "int", text)
	fails(t, exitUsage, "need -sqlite", "-bolt", file, "-table", "a", text)
}

func TestSQLite_losesNoRowToAKey(t *testing.T) {
	for statement, want := range map[string]string{
		`INSERT INTO t VALUES (NULL, 'b'), (NULL, 'c')`:   "the primary key is NULL",
		`INSERT INTO t VALUES (x'61', 'b'), ('a', 'c')`:   "column's declared type, TEXT",
		`INSERT INTO t VALUES ('', 'b')`:                  "the key is empty",
		`INSERT INTO t VALUES (hex(zeroblob(40000)), 1)`:  "the key has 80000 bytes",
		`INSERT INTO t VALUES ('a', CAST(x'ff' AS TEXT))`: `column "x": the text is not valid UTF-8`,
	} {
		file, _ := sqliteFile(t, `CREATE TABLE t (id TEXT PRIMARY KEY, x)`,
			`INSERT INTO t VALUES ('good', 1)`, statement)
		db := filepath.Join(t.TempDir(), "db")
		fails(t, exitError, want, "-sqlite", file, db)
		r := imports(t, "-sqlite", file, "-skip-bad", db)
		if r.Skipped < 1 || r.Entries < 1 {
			t.Errorf("%s: the summary says %+v", statement, r)
		}
		if strings.Contains(want, "UTF-8") {
			continue
		}
		rows := filepath.Join(t.TempDir(), "db")
		if r := imports(t, "-sqlite", file, "-keys-as", "rowid", rows); r.Entries < 2 {
			t.Errorf("%s: the summary says %+v", statement, r)
		}
	}
}

func TestSQLite_takesOddNames(t *testing.T) {
	names := []string{`a "b" 'c'; DROP`, "sl/ash", "ünï", "two\nlines", "select", "SQLiteX", " "}
	var statements []string
	for _, name := range names {
		statements = append(statements,
			fmt.Sprintf("CREATE TABLE %s (%[1]s INTEGER PRIMARY KEY, x)", identifier(name)),
			fmt.Sprintf("INSERT INTO %s VALUES (7, 'v')", identifier(name)))
	}
	file, _ := sqliteFile(t, statements...)
	db := filepath.Join(t.TempDir(), "db")
	if r := imports(t, "-sqlite", file, db); r.Entries != int64(len(names)) {
		t.Errorf("the summary says %+v", r)
	}
	for _, name := range names {
		if keys, _ := keysIn(t, db, name); len(keys) != 1 {
			t.Errorf("table %q has the keys %v", name, keys)
		}
	}
}

func TestSQLite_goesOnAfterAnInterrupt(t *testing.T) {
	file, _ := sqliteFile(t,
		`CREATE TABLE a (id INTEGER PRIMARY KEY)`, `INSERT INTO a VALUES (1), (2), (3), (4), (5)`,
		`CREATE TABLE b (x)`,
		`CREATE TABLE c (x TEXT PRIMARY KEY, y) WITHOUT ROWID`,
		`INSERT INTO c VALUES ('p', 1), ('q', 2), ('r', 3), ('s', NULL)`)
	goesOn(t, "-sqlite", file)
}

func TestSQLite_refusesAFileThatHasChanged(t *testing.T) {
	file, source := sqliteFile(t, `CREATE TABLE a (id INTEGER PRIMARY KEY)`,
		`INSERT INTO a VALUES (1), (2), (3), (4), (5)`)
	db := filepath.Join(t.TempDir(), "db")
	o, err := parse([]string{"-sqlite", file, db})
	ok(t, err)
	o.recordsMax = 2
	if err := o.run(&countdown{t.Context(), 3}, nil, nil); !errors.Is(err, errInterrupted) {
		t.Fatal(err)
	}
	fails(t, exitError, "-restart", "-sqlite", file, "-keys-as", "text", db)
	_, err = source.Exec(`CREATE TABLE b (x)`)
	ok(t, err)
	fails(t, exitError, "has changed", "-sqlite", file, db)
	if r := imports(t, "-sqlite", file, "-restart", db); r.Entries != 5 {
		t.Errorf("the summary says %+v", r)
	}
}

func TestSQLite_readsTheLogBesideTheFile(t *testing.T) {
	file, _ := sqliteFile(t, `PRAGMA journal_mode = WAL`, `PRAGMA wal_autocheckpoint = 0`,
		`CREATE TABLE a (id INTEGER PRIMARY KEY)`, `INSERT INTO a VALUES (1), (2)`)
	if info, err := os.Stat(file + "-wal"); err != nil || info.Size() == 0 {
		t.Fatalf("there is no log (%v)", err)
	}
	if r := imports(t, "-sqlite", file, filepath.Join(t.TempDir(), "db")); r.Entries != 2 {
		t.Errorf("the summary says %+v", r)
	}
	// A copy of both files is what a crash leaves.
	crashed := filepath.Join(t.TempDir(), "crashed.db")
	for _, suffix := range []string{"", "-wal"} {
		data, err := os.ReadFile(file + suffix)
		ok(t, err)
		ok(t, os.WriteFile(crashed+suffix, data, 0o600))
	}
	if r := imports(t, "-sqlite", crashed, filepath.Join(t.TempDir(), "db")); r.Entries != 2 {
		t.Errorf("after a crash, the summary says %+v", r)
	}
}

func TestSQLite_saysWhenTheFileIsLocked(t *testing.T) {
	file, source := sqliteFile(t, `CREATE TABLE a (id INTEGER PRIMARY KEY)`)
	_, err := source.Exec(`BEGIN EXCLUSIVE`)
	ok(t, err)
	db := filepath.Join(t.TempDir(), "db")
	fails(t, exitError, "is locked by another program", "-sqlite", file, db)
	_, err = source.Exec(`ROLLBACK`)
	ok(t, err)
	imports(t, "-sqlite", file, db)
}

func TestSQLite_refusesWhatItCannotRead(t *testing.T) {
	db := filepath.Join(t.TempDir(), "db")
	text := filepath.Join(t.TempDir(), "text")
	ok(t, os.WriteFile(text, []byte(strings.Repeat("no database ", 1000)), 0o600))
	fails(t, exitError, "is encrypted or not a SQLite database", "-sqlite", text, db)
	fails(t, exitError, "none", "-sqlite", filepath.Join(t.TempDir(), "none"), db)
	fails(t, exitError, "not a regular file", "-sqlite", t.TempDir(), db)
	if _, err := os.Stat(db); !os.IsNotExist(err) {
		t.Errorf("a database was created (%v)", err)
	}
	file, source := sqliteFile(t, `CREATE TABLE a (id INTEGER PRIMARY KEY, x TEXT)`)
	for range 12 {
		_, err := source.Exec(`INSERT INTO a(x) SELECT hex(randomblob(500)) FROM
			(VALUES (1), (2), (3), (4), (5), (6), (7), (8))`)
		ok(t, err)
	}
	data, err := os.ReadFile(file)
	ok(t, err)
	for i := len(data) / 4; i < len(data)*3/4; i++ {
		data[i] = 0xa5
	}
	damaged := filepath.Join(t.TempDir(), "damaged.db")
	ok(t, os.WriteFile(damaged, data, 0o600))
	fails(t, exitError, "is damaged (\"PRAGMA integrity_check\" may say how)", "-sqlite", damaged, db)
	ok(t, os.WriteFile(damaged, data[:len(data)/2], 0o600))
	fails(t, exitError, "is damaged (\"PRAGMA integrity_check\" may say how)", "-sqlite", damaged, db)
}

func TestSQLite_refusesWhatACrashLeftHalfWritten(t *testing.T) {
	file, _ := sqliteFile(t, `CREATE TABLE a (x)`, `INSERT INTO a
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
		SELECT hex(randomblob(500)) FROM n`,
		`PRAGMA cache_size = 2`, `BEGIN`, `UPDATE a SET x = 'y' || x`)
	crashed := filepath.Join(t.TempDir(), "crashed.db")
	for _, suffix := range []string{"", "-journal"} {
		data, err := os.ReadFile(file + suffix)
		ok(t, err)
		ok(t, os.WriteFile(crashed+suffix, data, 0o600))
	}
	fails(t, exitError, "was not closed", "-sqlite", crashed, filepath.Join(t.TempDir(), "db"))
}
