// The part of the RocksDB adapter that is in C: what rocksdb.go calls. A function that returns a
// text returns the error, which the caller must free, or NULL.

#include <errno.h>
#include <rocksdb/c.h>
#include "foreign.h"

// In rocksdb_version.cc, because RocksDB tells it to C++ only.
void rocks_version(char *text, size_t room);

// An open database with the options of its calls.
typedef struct {
	rocksdb_t *db;
	rocksdb_column_family_handle_t *family; // the default one, which MultiGet asks for
	rocksdb_options_t *options;
	rocksdb_readoptions_t *read;
	rocksdb_writeoptions_t *write;
} rocks_store;

static char *rocks_close(rocks_store *s, int sync) {
	char *err = NULL;
	if (s->db) {
		if (sync) rocksdb_flush_wal(s->db, 1, &err);
		rocksdb_column_family_handle_destroy(s->family);
		rocksdb_close(s->db);
	}
	rocksdb_writeoptions_destroy(s->write);
	rocksdb_readoptions_destroy(s->read);
	rocksdb_options_destroy(s->options);
	free(s);
	return err;
}

// Gives the tables a cache of so many bytes.
static void rocks_set_cache(rocksdb_options_t *options, size_t bytes) {
	rocksdb_block_based_table_options_t *table = rocksdb_block_based_options_create();
	rocksdb_cache_t *cache = rocksdb_cache_create_lru(bytes);
	rocksdb_block_based_options_set_block_cache(table, cache);
	rocksdb_options_set_block_based_table_factory(options, table);
	rocksdb_cache_destroy(cache); // the options share it
	rocksdb_block_based_options_destroy(table);
}

// Opens a database with a cache of so many bytes, or with the default if that is 0.
static char *rocks_open(const char *dir, int sync, size_t cache, rocks_store **opened) {
	char *err = NULL;
	const char *family = "default";
	const rocksdb_options_t *options;
	rocks_store *s = calloc(1, sizeof *s);
	if (!s) return strdup(strerror(ENOMEM));
	s->options = rocksdb_options_create();
	rocksdb_options_set_create_if_missing(s->options, 1);
	if (cache) rocks_set_cache(s->options, cache);
	s->read = rocksdb_readoptions_create();
	s->write = rocksdb_writeoptions_create();
	rocksdb_writeoptions_set_sync(s->write, sync != 0);
	options = s->options;
	s->db = rocksdb_open_column_families(s->options, dir, 1, &family, &options, &s->family, &err);
	if (s->db) *opened = s;
	else rocks_close(s, 0);
	return err;
}

static void rocks_view(rocks_store *s) {
	rocksdb_release_snapshot(s->db, rocksdb_create_snapshot(s->db));
}

// Copies the value to buf if there is room for all of it.
static char *rocks_get(rocks_store *s, const char *key, size_t key_size,
		char *buf, size_t room, size_t *size, int *found) {
	char *err = NULL;
	const char *value;
	rocksdb_pinnableslice_t *pinned = rocksdb_get_pinned(s->db, s->read, key, key_size, &err);
	if (err || !pinned) return err;
	*found = 1;
	value = rocksdb_pinnableslice_value(pinned, size);
	if (*size > 0 && *size <= room) memcpy(buf, value, *size);
	rocksdb_pinnableslice_destroy(pinned);
	return NULL;
}

// Gets n keys that lie one behind the other, and counts those that were found.
static char *rocks_get_many(rocks_store *s, const char *keys, const size_t *sizes, size_t n,
		size_t *found, size_t *total) {
	char *err = NULL;
	size_t i;
	const char **starts = calloc(n, sizeof *starts);
	rocksdb_pinnableslice_t **values = calloc(n, sizeof *values);
	char **errs = calloc(n, sizeof *errs);
	if (n > 0 && (!starts || !values || !errs)) {
		err = strdup(strerror(ENOMEM));
		n = 0;
	}
	for (i = 0; i < n; keys += sizes[i++]) starts[i] = keys;
	if (n > 0) {
		rocksdb_batched_multi_get_cf(s->db, s->read, s->family, n, starts, sizes, values, errs, 0);
	}
	for (i = 0; i < n; i++) {
		size_t size = 0;
		if (errs[i]) {
			if (err) free(errs[i]);
			else err = errs[i];
		}
		if (!values[i]) continue;
		rocksdb_pinnableslice_value(values[i], &size);
		rocksdb_pinnableslice_destroy(values[i]);
		*total += size;
		(*found)++;
	}
	free(starts);
	free(values);
	free(errs);
	return err;
}

// Steps over n entries at most, from the first one if the key is empty.
static char *rocks_iterate(rocks_store *s, const char *start, size_t start_size,
		size_t n, foreign_step step, foreign_walk *walk) {
	char *err = NULL;
	const char *key = NULL, *value = NULL;
	size_t key_size = 0, size = 0;
	foreign_buffer buf = {NULL, 0};
	foreign_walk w = {0, 0, 0};
	rocksdb_iterator_t *it = rocksdb_create_iterator(s->db, s->read);
	if (start_size) rocksdb_iter_seek(it, start, start_size);
	else rocksdb_iter_seek_to_first(it);
	for (; w.entries < n && rocksdb_iter_valid(it); rocksdb_iter_next(it)) {
		if (step == COPY || step == COPY_KEY) key = rocksdb_iter_key(it, &key_size);
		if (step != COPY_KEY) value = rocksdb_iter_value(it, &size);
		if (!foreign_visit(&w, &buf, step, key, key_size, value, size)) {
			err = strdup(strerror(ENOMEM));
			break;
		}
	}
	if (!err) rocksdb_iter_get_error(it, &err);
	rocksdb_iter_destroy(it);
	free(buf.start);
	*walk = w;
	return err;
}

// Puts one pair in a write of its own.
static char *rocks_put(rocks_store *s, const char *key, size_t key_size,
		const char *value, size_t value_size) {
	char *err = NULL;
	rocksdb_put(s->db, s->write, key, key_size, value, value_size, &err);
	return err;
}

// Writes a batch and destroys it.
static char *rocks_write(rocks_store *s, rocksdb_writebatch_t *batch) {
	char *err = NULL;
	rocksdb_write(s->db, s->write, batch, &err);
	rocksdb_writebatch_destroy(batch);
	return err;
}
