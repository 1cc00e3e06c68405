package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/stoatdb/stoat/internal/commands/intake"
	"github.com/stoatdb/stoat/internal/commands/progress"
	"modernc.org/sqlite"
)

// Primary result codes of SQLite.
const (
	sqliteBusy     = 5
	sqliteReadOnly = 8
	sqliteCorrupt  = 11
	sqliteCantOpen = 14
	sqliteNotADB   = 26
)

// Extended result codes of SQLite.
const (
	sqliteCantInit       = 1288
	sqliteReadOnlyFolder = 1544
)

// sqliteSource is a SQLite database: a bucket for each table, an entry for each row. It is not safe
// for concurrent use.
//
// A position is the name of a table and the number of its rows that were read, in key order.
type sqliteSource struct {
	path   string // absolute
	files  intake.Source
	bytes  int64
	db     *sql.DB
	tx     *sql.Tx // one snapshot
	o      sqliteOptions
	tables []*sqliteTable
	notes  []string // what was not imported
}

// sqliteOptions says what to import, and how.
type sqliteOptions struct {
	table   string  // the only table to import; empty for all
	form    keyForm // of keys
	skipBad bool
}

func openSQLite(name string, o sqliteOptions) (source, error) {
	path, err := filepath.Abs(name)
	if err != nil {
		return nil, err
	}
	s := &sqliteSource{path: path, o: o}
	if err := s.look(); err != nil {
		return nil, err
	}
	err = s.open("")
	if noSharedMemory(err) && s.walBytes() == 0 {
		err = s.open("&immutable=1")
	}
	if err != nil {
		return nil, s.explain(err)
	}
	return s, nil
}

// look finds out what the files are before anything is opened.
func (s *sqliteSource) look() error {
	info, err := os.Stat(s.path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file and therefore not a SQLite database", s.path)
	}
	parts := []fs.FileInfo{info}
	if wal, err := os.Stat(s.path + "-wal"); err == nil && wal.Size() > 0 {
		parts = append(parts, wal)
	}
	for _, part := range parts {
		s.bytes += part.Size()
	}
	s.files = intake.Source{Kind: "sqlite", Path: s.path, Identity: intake.Identity(parts...)}
	return nil
}

// walBytes returns the size of the write-ahead log beside the file.
func (s *sqliteSource) walBytes() int64 {
	info, err := os.Stat(s.path + "-wal")
	if err != nil {
		return 0
	}
	return info.Size()
}

// open opens the file for reading, with extra parameters if given, and lists its tables.
func (s *sqliteSource) open(parameters string) error {
	name := filepath.ToSlash(s.path)
	if !strings.HasPrefix(name, "/") {
		name = "/" + name // a drive letter comes first
	}
	db, err := sql.Open("sqlite", "file://"+(&url.URL{Path: name}).EscapedPath()+"?mode=ro"+
		fmt.Sprintf("&_pragma=busy_timeout(%d)", lockWait.Milliseconds())+
		"&_pragma=trusted_schema(0)&_pragma=cell_size_check(1)"+parameters)
	if err != nil {
		return err
	}
	s.db, s.tables, s.notes = db, nil, nil
	db.SetMaxOpenConns(1)
	if s.tx, err = db.Begin(); err == nil {
		err = s.list()
	}
	if err != nil {
		return errors.Join(err, s.close())
	}
	return nil
}

// explain says what to do about a SQLite error.
func (s *sqliteSource) explain(err error) error {
	switch codeOf(err) {
	case sqliteBusy:
		return fmt.Errorf("%s is locked by another program: stop that first (%w)", s.path, err)
	case sqliteReadOnly:
		return fmt.Errorf("%s was not closed: have its program open it once, or run: sqlite3 %s .tables "+
			"(%w)", s.path, s.path, err)
	case sqliteNotADB:
		return fmt.Errorf("%s is encrypted or not a SQLite database: %w", s.path, err)
	case sqliteCorrupt:
		return fmt.Errorf("%s is damaged (\"PRAGMA integrity_check\" may say how): %w", s.path, err)
	}
	return err
}

// codeOf returns the SQLite result code in err, or 0.
func codeOf(err error) int {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return 0
	}
	return e.Code() & 0xff
}

// noSharedMemory reports whether SQLite cannot create the file that a log's readers share, for
// example in a read-only folder. Without a log, the file is not needed.
func noSharedMemory(err error) bool {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return false
	}
	return e.Code() == sqliteReadOnlyFolder || e.Code() == sqliteCantInit ||
		codeOf(err) == sqliteCantOpen
}

// list lists the tables.
func (s *sqliteSource) list() error {
	rows, err := s.tx.Query(`SELECT name, type, wr FROM pragma_table_list
		WHERE schema = 'main' AND name NOT LIKE 'sqlite\_%' ESCAPE '\' ORDER BY name COLLATE BINARY`)
	if err != nil {
		return err
	}
	defer rows.Close() // Err returns the error
	left := map[string]int64{}
	for rows.Next() {
		var name, kind string
		var keyed bool
		if err := rows.Scan(&name, &kind, &keyed); err != nil {
			return err
		}
		switch {
		case kind != "table":
			left[kind]++
		case s.o.table == "" || s.o.table == name:
			s.tables = append(s.tables, &sqliteTable{name: name, rowid: !keyed})
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if s.o.table != "" && len(s.tables) == 0 {
		return fmt.Errorf("%s has no table %q", s.path, s.o.table)
	}
	for _, kind := range []string{"view", "virtual"} {
		if left[kind] > 0 && s.o.table == "" {
			noun := map[string]string{"view": "view", "virtual": "virtual table"}[kind]
			s.notes = append(s.notes, progress.Counted(left[kind], noun)+" left out")
		}
	}
	for _, t := range s.tables {
		if err := t.describe(s.tx, s.o.form); err != nil {
			return fmt.Errorf("table %q: %w", t.name, err)
		}
	}
	return nil
}

func (s *sqliteSource) identity() intake.Source { return s.files }
func (s *sqliteSource) size() int64             { return s.bytes }
func (s *sqliteSource) findings() []string      { return s.notes }

func (s *sqliteSource) close() error {
	var err error
	if s.tx != nil {
		err = s.tx.Rollback()
	}
	return errors.Join(err, s.db.Close())
}

func (s *sqliteSource) read(ctx context.Context, job *intake.Job, add func(n int64)) error {
	at := job.Position()
	for _, t := range s.tables {
		from := int64(0)
		if len(at.Path) > 0 {
			switch last := string(at.Path[0]); {
			case t.name < last:
				continue
			case t.name == last:
				from = at.Record
			}
		}
		if err := s.readTable(ctx, job, t, from, add); err != nil {
			return s.explain(err)
		}
	}
	return nil
}

// readTable imports the rows of a table after the position.
func (s *sqliteSource) readTable(
	ctx context.Context, job *intake.Job, t *sqliteTable, from int64, add func(n int64),
) error {
	at := intake.Position{Path: [][]byte{[]byte(t.name)}, Record: from}
	if from == 0 {
		if err := s.enter(job, t, at.Path); err != nil {
			return err
		}
	}
	rows, err := s.tx.Query(t.query(), from)
	if err != nil {
		return fmt.Errorf("table %q: %w", t.name, err)
	}
	defer rows.Close() // Err returns the error
	for rows.Next() {
		if err := interrupted(ctx); err != nil {
			return err
		}
		at.Record++
		n, err := s.row(job, t, at.Path, rows)
		if errors.As(err, new(badRow)) && s.o.skipBad {
			job.Skipped()
			err = nil
		}
		if err != nil {
			return fmt.Errorf("table %q, row %d: %w", t.name, at.Record, err)
		}
		add(int64(n))
		if err := job.Advance(at); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("table %q, after row %d: %w", t.name, at.Record, err)
	}
	return nil
}

// enter creates the bucket of a table. Its sequence continues where the rows end.
func (s *sqliteSource) enter(job *intake.Job, t *sqliteTable, path [][]byte) error {
	last, err := t.last(s.tx)
	if err != nil {
		return fmt.Errorf("table %q: %w", t.name, err)
	}
	to, err := job.Within(path)
	if err != nil {
		return fmt.Errorf("table %q: %w", t.name, err)
	}
	sequence, err := to.Sequence()
	if err == nil && last > sequence {
		err = to.SetSequence(last)
	}
	return err
}

// row imports the current row.
func (s *sqliteSource) row(
	job *intake.Job, t *sqliteTable, path [][]byte, rows *sql.Rows,
) (n int, err error) {
	if err := rows.Scan(t.targets...); err != nil {
		return 0, err
	}
	key, value, err := t.entry()
	if err != nil {
		return 0, err
	}
	to, err := job.Within(path)
	if err == nil {
		err = to.Put(key, value)
	}
	if err != nil {
		return 0, err
	}
	job.Wrote(len(key) + len(value))
	return len(key) + len(value), nil
}
