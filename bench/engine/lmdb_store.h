// The part of the LMDB adapter that is in C: what lmdb.go calls. All functions return LMDB's number
// of an error, or 0.

#include <errno.h>
#include <lmdb.h>
#include "foreign.h"

static int store_open(const char *dir, size_t map, unsigned flags, MDB_env **env, MDB_dbi *dbi) {
	MDB_txn *txn;
	int rc = mdb_env_create(env);
	if (rc) return rc;
	if (!(rc = mdb_env_set_mapsize(*env, map)) &&
	    !(rc = mdb_env_set_maxreaders(*env, 1024)) &&
	    !(rc = mdb_env_open(*env, dir, flags | MDB_NOTLS, 0600)) &&
	    !(rc = mdb_txn_begin(*env, NULL, MDB_RDONLY, &txn))) {
		if (!(rc = mdb_dbi_open(txn, NULL, 0, dbi))) rc = mdb_txn_commit(txn);
		else mdb_txn_abort(txn);
	}
	if (rc) mdb_env_close(*env);
	return rc;
}

// Makes a reader that is at rest. The functions below wake it up, and put it to rest again.
static int store_reader(MDB_env *env, MDB_txn **reader) {
	int rc = mdb_txn_begin(env, NULL, MDB_RDONLY, reader);
	if (!rc) mdb_txn_reset(*reader);
	return rc;
}

static int store_view(MDB_txn *reader) {
	int rc = mdb_txn_renew(reader);
	if (!rc) mdb_txn_reset(reader);
	return rc;
}

// Copies the value to buf if there is room for all of it.
static int store_get(MDB_txn *reader, MDB_dbi dbi, const char *key, size_t key_size,
		char *buf, size_t room, size_t *size) {
	MDB_val k = {key_size, (void *)key}, v;
	int rc = mdb_txn_renew(reader);
	if (rc) return rc;
	if (!(rc = mdb_get(reader, dbi, &k, &v))) {
		*size = v.mv_size;
		if (v.mv_size > 0 && v.mv_size <= room) memcpy(buf, v.mv_data, v.mv_size);
	}
	mdb_txn_reset(reader);
	return rc;
}

// Gets n keys that lie one behind the other.
static int store_get_many(MDB_txn *reader, MDB_dbi dbi, const char *keys, const size_t *sizes,
		size_t n, size_t *total) {
	MDB_val k, v;
	size_t i;
	int rc = mdb_txn_renew(reader);
	if (rc) return rc;
	for (i = 0; i < n; i++) {
		k.mv_data = (void *)keys;
		k.mv_size = sizes[i];
		if ((rc = mdb_get(reader, dbi, &k, &v))) break;
		*total += v.mv_size;
		keys += sizes[i];
	}
	mdb_txn_reset(reader);
	return rc;
}

// Steps over n entries at most, from the first one if the key is empty.
static int store_iterate(MDB_txn *reader, MDB_dbi dbi, const char *start, size_t start_size,
		size_t n, foreign_step step, foreign_walk *walk) {
	MDB_val k = {start_size, (void *)start}, v;
	MDB_cursor *cursor;
	MDB_cursor_op op = start_size ? MDB_SET_RANGE : MDB_FIRST;
	foreign_buffer buf = {NULL, 0};
	foreign_walk w = {0, 0, 0};
	int rc = mdb_txn_renew(reader);
	if (rc) return rc;
	if ((rc = mdb_cursor_open(reader, dbi, &cursor))) {
		mdb_txn_reset(reader);
		return rc;
	}
	for (; w.entries < n && !(rc = mdb_cursor_get(cursor, &k, &v, op)); op = MDB_NEXT) {
		if (!foreign_visit(&w, &buf, step, k.mv_data, k.mv_size, v.mv_data, v.mv_size)) {
			rc = ENOMEM;
			break;
		}
	}
	free(buf.start);
	mdb_cursor_close(cursor);
	mdb_txn_reset(reader);
	*walk = w;
	return rc == MDB_NOTFOUND ? 0 : rc;
}

// Puts one pair, or removes what is under the key.
static int store_change(MDB_txn *txn, MDB_dbi dbi, const char *key, size_t key_size,
		const char *value, size_t value_size, int remove) {
	MDB_val k = {key_size, (void *)key}, v = {value_size, (void *)value};
	int rc;
	if (!remove) return mdb_put(txn, dbi, &k, &v, 0);
	rc = mdb_del(txn, dbi, &k, NULL);
	return rc == MDB_NOTFOUND ? 0 : rc;
}

// Puts one pair in a transaction of its own.
static int store_put(MDB_env *env, MDB_dbi dbi, const char *key, size_t key_size,
		const char *value, size_t value_size) {
	MDB_txn *txn;
	int rc = mdb_txn_begin(env, NULL, 0, &txn);
	if (rc) return rc;
	if ((rc = store_change(txn, dbi, key, key_size, value, value_size, 0))) {
		mdb_txn_abort(txn);
		return rc;
	}
	return mdb_txn_commit(txn);
}
