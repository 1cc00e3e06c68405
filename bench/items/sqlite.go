package items

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/stoatdb/stoat/bench/engine"
)

// sqliteStore is SQLite, with a table for each repository, through one connection of database/sql.
type sqliteStore struct {
	db         *sql.DB
	conn       *sql.Conn
	open       map[string]*sqliteRepository // by path
	statements map[string]*sql.Stmt         // by text; prepared when first used
}

func sqliteImplementations() []implementation {
	with := func(name, journal, settings string) implementation {
		return implementation{
			About: engine.About{
				Name:     name,
				Module:   engine.SQLiteModule,
				Version:  engine.SQLiteVersion() + ", " + engine.SQLiteModule,
				Settings: settings + "synchronous OFF with -sync never; one table per repository",
			},
			open: func(dir string, sync bool) (store, error) {
				return openSQLite(dir, journal, sync)
			},
		}
	}
	return []implementation{
		with("sqlite", "DELETE", ""),
		with("sqlite-wal", "WAL", "journal_mode WAL, "),
	}
}

func openSQLite(dir, journal string, sync bool) (store, error) {
	file := url.URL{Path: filepath.ToSlash(filepath.Join(dir, "items.db"))}
	db, err := sql.Open(engine.SQLiteDriver, "file:"+file.EscapedPath())
	if err != nil {
		return nil, err
	}
	conn, err := db.Conn(context.Background())
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	s := &sqliteStore{
		db:         db,
		conn:       conn,
		open:       make(map[string]*sqliteRepository),
		statements: make(map[string]*sql.Stmt),
	}
	if err := s.set(journal, sync); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// set applies the settings and opens the file, which SQLite otherwise defers.
func (s *sqliteStore) set(journal string, sync bool) error {
	synchronous := "FULL"
	if !sync {
		synchronous = "OFF"
	}
	if err := s.execute("PRAGMA synchronous = " + synchronous); err != nil {
		return err
	}
	var now string
	row := s.conn.QueryRowContext(context.Background(), "PRAGMA journal_mode = "+journal)
	if err := row.Scan(&now); err != nil {
		return err
	}
	if !strings.EqualFold(now, journal) {
		return fmt.Errorf("journal mode is %s instead of %s", now, journal)
	}
	return nil
}

func (s *sqliteStore) execute(text string) error {
	_, err := s.conn.ExecContext(context.Background(), text)
	return err
}

func (s *sqliteStore) repository(path string) (repository, error) {
	if r, ok := s.open[path]; ok {
		return r, nil
	}
	r := newSQLiteRepository(s, path)
	if err := s.execute("CREATE TABLE IF NOT EXISTS " + r.table + sqliteColumns); err != nil {
		return nil, err
	}
	s.open[path] = r
	return r, nil
}

func (s *sqliteStore) read(path string) (it item, err error) {
	name, id, err := split(path)
	if err != nil {
		return it, err
	}
	r, ok := s.open[name]
	if !ok {
		return it, notOpen(name)
	}
	found, err := r.items(1, r.one, id)
	if err != nil {
		return it, err
	}
	if len(found) == 0 {
		return it, errNotFound
	}
	return found[0], nil
}

// prepare returns the statement with the text, prepared once.
func (s *sqliteStore) prepare(text string) (*sql.Stmt, error) {
	if statement, ok := s.statements[text]; ok {
		return statement, nil
	}
	statement, err := s.conn.PrepareContext(context.Background(), text)
	if err != nil {
		return nil, err
	}
	s.statements[text] = statement
	return statement, nil
}

// transact runs fn in a write transaction. It does not use sql.Tx, which would prepare every
// statement again.
func (s *sqliteStore) transact(fn func() error) error {
	begin, err := s.prepare("BEGIN IMMEDIATE")
	if err != nil {
		return err
	}
	commit, err := s.prepare("COMMIT")
	if err != nil {
		return err
	}
	if _, err := begin.Exec(); err != nil {
		return err
	}
	err = fn()
	if err == nil {
		_, err = commit.Exec()
	}
	if err != nil {
		err = errors.Join(err, s.execute("ROLLBACK"))
	}
	return err
}

func (s *sqliteStore) close() error {
	var errs []error
	for _, statement := range s.statements {
		errs = append(errs, statement.Close())
	}
	return errors.Join(append(errs, s.conn.Close(), s.db.Close())...)
}

// tagsOf returns tags as the JSON of their column.
func tagsOf(tags []string) (string, error) {
	b, err := json.Marshal(tags)
	return string(b), err
}
