package items

import (
	"database/sql"
	"encoding/json"
	"errors"
	"strings"
)

// sqliteColumns are the columns of a repository's table.
const sqliteColumns = " (id TEXT PRIMARY KEY, title TEXT NOT NULL, count INTEGER NOT NULL, " +
	"tags TEXT NOT NULL)"

// sqliteRepository is a table and the statements for it.
type sqliteRepository struct {
	store *sqliteStore
	table string // quoted

	insert string // id, title, count, tags
	change string // title, count, tags, id
	one    string // id -> item
	many   string // JSON of ids -> items
	all    string // -> items
	size   string // -> number
	ids    string // -> ids
}

func newSQLiteRepository(s *sqliteStore, path string) *sqliteRepository {
	table := `"` + strings.ReplaceAll(path, `"`, `""`) + `"`
	all := "SELECT id, title, count, tags FROM " + table
	list := "SELECT t.id, title, count, tags FROM json_each(?) AS list CROSS JOIN "
	return &sqliteRepository{
		store:  s,
		table:  table,
		insert: "INSERT INTO " + table + " (id, title, count, tags) VALUES (?, ?, ?, ?)",
		change: "UPDATE " + table + " SET title = ?, count = ?, tags = ? WHERE id = ?",
		one:    all + " WHERE id = ?",
		many:   list + table + " AS t ON t.id = list.value",
		all:    all,
		size:   "SELECT COUNT(*) FROM " + table,
		ids:    "SELECT id FROM " + table,
	}
}

func (r *sqliteRepository) create(items ...item) error {
	insert, err := r.store.prepare(r.insert)
	if err != nil {
		return err
	}
	if len(items) == 1 { // a single statement is a transaction
		return sqliteInsert(insert, items[0])
	}
	return r.store.transact(func() error {
		for _, it := range items {
			if err := sqliteInsert(insert, it); err != nil {
				return err
			}
		}
		return nil
	})
}

func sqliteInsert(insert *sql.Stmt, it item) error {
	tags, err := tagsOf(it.Tags)
	if err != nil {
		return err
	}
	_, err = insert.Exec(it.ID, it.Title, it.Count, tags)
	return err
}

func (r *sqliteRepository) update(it item) error {
	change, err := r.store.prepare(r.change)
	if err != nil {
		return err
	}
	tags, err := tagsOf(it.Tags)
	if err != nil {
		return err
	}
	result, err := change.Exec(it.Title, it.Count, tags, it.ID)
	if err != nil {
		return err
	}
	changed, err := result.RowsAffected()
	if err == nil && changed == 0 {
		err = errNotFound
	}
	return err
}

func (r *sqliteRepository) readMany(ids []string) ([]item, error) {
	list, err := json.Marshal(ids)
	if err != nil {
		return nil, err
	}
	found, err := r.items(len(ids), r.many, string(list))
	if err == nil && len(found) < len(ids) {
		err = errNotFound
	}
	return found, err
}

func (r *sqliteRepository) readAll() ([]item, error) { return r.items(0, r.all) }

func (r *sqliteRepository) query(q query) ([]item, error) {
	text, values := r.all+" WHERE count > ?", []any{q.above}
	if q.below != 0 {
		text, values = text+" AND count < ?", append(values, q.below)
	}
	if q.tag != "" {
		text += " AND EXISTS (SELECT 1 FROM json_each(tags) WHERE value = ?)"
		values = append(values, q.tag)
	}
	if q.byCount {
		text += " ORDER BY count DESC"
	}
	return r.items(0, text, values...)
}

// items returns the items that a statement selects, about size of them.
func (r *sqliteRepository) items(size int, text string, values ...any) ([]item, error) {
	found := make([]item, 0, size)
	var tags sql.RawBytes
	var it item
	columns := []any{&it.ID, &it.Title, &it.Count, &tags}
	err := r.each(text, values, columns, func() error {
		it.Tags = nil
		err := json.Unmarshal(tags, &it.Tags)
		found = append(found, it)
		return err
	})
	return found, err
}

func (r *sqliteRepository) count() (n int, err error) {
	err = r.each(r.size, nil, []any{&n}, func() error { return nil })
	return n, err
}

func (r *sqliteRepository) keys() (ids []string, err error) {
	var id string
	err = r.each(r.ids, nil, []any{&id}, func() error {
		ids = append(ids, id)
		return nil
	})
	return ids, err
}

// each scans each selected row into the columns, and then calls fn.
func (r *sqliteRepository) each(text string, values, columns []any, fn func() error) error {
	statement, err := r.store.prepare(text)
	if err != nil {
		return err
	}
	rows, err := statement.Query(values...)
	if err != nil {
		return err
	}
	for rows.Next() {
		err := rows.Scan(columns...)
		if err == nil {
			err = fn()
		}
		if err != nil {
			return errors.Join(err, rows.Close())
		}
	}
	return errors.Join(rows.Err(), rows.Close())
}
