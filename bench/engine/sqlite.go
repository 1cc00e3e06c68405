package engine

import (
	"bytes"
	"database/sql"
	"encoding/binary"
	"errors"
	"net/url"
	"path/filepath"
	"runtime"
	"strconv"
)

// sqliteStore is SQLite: one table, through database/sql, with one connection for writing and one
// per processor for reading. All statements are prepared.
type sqliteStore struct {
	order  Order
	writer *sql.DB
	put    *sql.Stmt // key, value
	remove *sql.Stmt // key
	last   *sql.Stmt // key -> value; for the counter
	reader *sql.DB
	get    *sql.Stmt // key -> value
	from   *sql.Stmt // key, limit -> key, value
	all    *sql.Stmt // limit -> key, value
	keys   *sql.Stmt // limit -> key
}

func sqliteEngines() []Engine {
	with := func(name, journal, settings string) Engine {
		return Engine{
			About: About{
				Name:    name,
				Module:  SQLiteModule,
				Version: SQLiteVersion() + ", " + SQLiteModule,
				Settings: settings + "busy_timeout 10 s; a table WITHOUT ROWID; one connection for " +
					"writing, and readers",
			},
			Open: func(dir string, o Options) (Store, error) {
				return openSQLite(dir, o, journal)
			},
		}
	}
	return []Engine{
		with("sqlite", "DELETE", "synchronous FULL, which leaves the last commit undone if the power "+
			"fails before the directory is written; "),
		with("sqlite-wal", "WAL", "journal_mode WAL, "),
	}
}

func openSQLite(dir string, o Options, journal string) (_ Store, err error) {
	source := sqliteSource(filepath.Join(dir, "sqlite.db"), journal, o)
	s := &sqliteStore{order: o.Order}
	if s.writer, err = sql.Open(SQLiteDriver, source); err != nil {
		return nil, err
	}
	s.writer.SetMaxOpenConns(1)
	if s.reader, err = sql.Open(SQLiteDriver, source); err != nil {
		return nil, errors.Join(err, s.writer.Close())
	}
	s.reader.SetMaxOpenConns(sqliteReaders())
	s.reader.SetMaxIdleConns(sqliteReaders())
	if err := s.prepare(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// sqliteReaders returns how many connections read.
func sqliteReaders() int { return runtime.GOMAXPROCS(0) }

// sqliteSource returns the name of a database with its settings. The connections have equal shares
// of the cache.
func sqliteSource(path, journal string, o Options) string {
	synchronous := "FULL"
	if !o.Sync {
		synchronous = "OFF"
	}
	file := url.URL{Path: filepath.ToSlash(path)}
	pragmas := [][2]string{
		{"busy_timeout", "10000"}, {"journal_mode", journal}, {"synchronous", synchronous},
	}
	if share := o.Cache / int64(1+sqliteReaders()); share > 0 {
		kibibytes := strconv.FormatInt(-max(1, share>>10), 10) // negative; else it counts pages
		pragmas = append(pragmas, [2]string{"cache_size", kibibytes})
	}
	return "file:" + file.EscapedPath() + "?" + sqliteSettings(pragmas).Encode()
}

// prepare creates the table if necessary, and prepares the statements.
func (s *sqliteStore) prepare() error {
	const table = "CREATE TABLE IF NOT EXISTS kv (key BLOB PRIMARY KEY, value BLOB) WITHOUT ROWID"
	if _, err := s.writer.Exec(table); err != nil {
		return err
	}
	const value = "SELECT value FROM kv WHERE key = ?"
	for _, p := range []struct {
		statement **sql.Stmt
		db        *sql.DB
		text      string
	}{
		{&s.put, s.writer, "INSERT OR REPLACE INTO kv (key, value) VALUES (?, ?)"},
		{&s.remove, s.writer, "DELETE FROM kv WHERE key = ?"},
		{&s.last, s.writer, value},
		{&s.get, s.reader, value},
		{&s.from, s.reader, "SELECT key, value FROM kv WHERE key >= ? ORDER BY key LIMIT ?"},
		{&s.all, s.reader, "SELECT key, value FROM kv ORDER BY key LIMIT ?"},
		{&s.keys, s.reader, "SELECT key FROM kv ORDER BY key LIMIT ?"},
	} {
		var err error
		if *p.statement, err = p.db.Prepare(p.text); err != nil {
			return err
		}
	}
	return nil
}

func (s *sqliteStore) Append(values [][]byte) error {
	return s.update(func(tx *sql.Tx) error {
		next, err := s.next(tx)
		if err != nil {
			return err
		}
		put := tx.Stmt(s.put)
		var key [KeyBytes]byte
		for _, value := range values {
			s.order.Put(key[:], next)
			if _, err := put.Exec(key[:], value); err != nil {
				return err
			}
			next++
		}
		_, err = put.Exec(counterKey(), binary.LittleEndian.AppendUint64(nil, next))
		return err
	})
}

// update runs fn in a write transaction.
func (s *sqliteStore) update(fn func(tx *sql.Tx) error) error {
	tx, err := s.writer.Begin()
	if err != nil {
		return err
	}
	if err := fn(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// next returns the next sequence number.
func (s *sqliteStore) next(tx *sql.Tx) (next uint64, err error) {
	_, err = sqliteGet(tx.Stmt(s.last), counterKey(), func(value []byte) error {
		next, err = counter(value)
		return err
	})
	return next, err
}

// sqliteGet calls fn with the value of a key, if present. The value is valid only during the call.
func sqliteGet(statement *sql.Stmt, key []byte, fn func(value []byte) error) (bool, error) {
	rows, err := statement.Query(key)
	if err != nil {
		return false, err
	}
	found := rows.Next()
	if found {
		var value sql.RawBytes
		if err = rows.Scan(&value); err == nil {
			err = fn(value)
		}
	}
	return found, errors.Join(err, rows.Err(), rows.Close())
}

func (s *sqliteStore) Put(key, value []byte, _ Writers) error {
	_, err := s.put.Exec(key, value)
	return err
}

func (s *sqliteStore) View() error {
	return s.view(func(*sql.Tx) error { return nil })
}

// view runs fn in a read transaction.
func (s *sqliteStore) view(fn func(tx *sql.Tx) error) error {
	tx, err := s.reader.Begin()
	if err != nil {
		return err
	}
	return errors.Join(fn(tx), tx.Rollback())
}

func (s *sqliteStore) Get(key []byte) (size int, err error) {
	return sqliteSize(s.get, key)
}

// sqliteSize returns the length of the value of a key.
func sqliteSize(statement *sql.Stmt, key []byte) (size int, err error) {
	found, err := sqliteGet(statement, key, func(value []byte) error {
		size = len(value)
		return nil
	})
	if err == nil && !found {
		err = sql.ErrNoRows
	}
	return size, err
}

func (s *sqliteStore) GetMany(keys [][]byte) (size int, err error) {
	err = s.view(func(tx *sql.Tx) error {
		get := tx.Stmt(s.get)
		for _, key := range keys {
			n, err := sqliteSize(get, key)
			if err != nil {
				return err
			}
			size += n
		}
		return nil
	})
	return size, err
}

func (s *sqliteStore) Iterate(start []byte, n int, look Look) (w Walk, err error) {
	rows, err := s.from.Query(start, n)
	if err != nil {
		return w, err
	}
	var key, value sql.RawBytes
	for rows.Next() {
		if err := rows.Scan(&key, &value); err != nil {
			return w, errors.Join(err, rows.Close())
		}
		w.Entries++
		w.Bytes += len(value)
		if look == TouchValues {
			w.Sum += Touch(value)
		}
	}
	return w, errors.Join(rows.Err(), rows.Close())
}

func (s *sqliteStore) Write(pairs []Pair) error {
	return s.update(func(tx *sql.Tx) error {
		put, remove := tx.Stmt(s.put), tx.Stmt(s.remove)
		for _, p := range pairs {
			var err error
			if p.Value == nil {
				_, err = remove.Exec(p.Key)
			} else {
				_, err = put.Exec(p.Key, p.Value)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *sqliteStore) Copy(key, buf []byte) (value []byte, found bool, err error) {
	value = buf[:0]
	found, err = sqliteGet(s.get, key, func(stored []byte) error {
		value = append(value, stored...)
		return nil
	})
	return value, found, err
}

func (s *sqliteStore) CopyAll(n int, part Part) (Walk, error) {
	var c copier
	var key, value sql.RawBytes
	statement, columns := s.all, []any{&key, &value}
	if part == KeysOnly {
		statement, columns = s.keys, columns[:1]
	}
	rows, err := statement.Query(n)
	if err != nil {
		return c.walk, err
	}
	for rows.Next() {
		if err := rows.Scan(columns...); err != nil {
			return c.walk, errors.Join(err, rows.Close())
		}
		c.copy(key, value)
	}
	return c.walk, errors.Join(rows.Err(), rows.Close())
}

func (s *sqliteStore) Each(fn func(key, value []byte) error) error {
	const noLimit = -1
	rows, err := s.all.Query(noLimit)
	if err != nil {
		return err
	}
	var key, value sql.RawBytes
	for rows.Next() {
		err := rows.Scan(&key, &value)
		if err == nil && bytes.Equal(key, counterKey()) {
			break
		}
		if err == nil {
			err = fn(key, value)
		}
		if err != nil {
			return errors.Join(err, rows.Close())
		}
	}
	return errors.Join(rows.Err(), rows.Close())
}

// Close closes the readers first, because the last connection cleans up and must be able to write.
func (s *sqliteStore) Close() error { return errors.Join(s.reader.Close(), s.writer.Close()) }
