// What the adapters of libraries in C share.

#ifndef FOREIGN_H
#define FOREIGN_H

#include <stdlib.h>
#include <string.h>

// What was seen on the way over entries; the twin of Walk.
typedef struct { size_t entries, bytes, sum; } foreign_walk;

// What to do with each entry on the way.
typedef enum { LOOK, TOUCH, COPY, COPY_KEY } foreign_step;

// A buffer that grows, for one entry after the other. The zero value is empty.
typedef struct { char *start; size_t room; } foreign_buffer;

// Does what is to be done with an entry, and counts it. Returns whether there was memory for it.
// With COPY_KEY it does not look at the value.
static int foreign_visit(foreign_walk *walk, foreign_buffer *buf, foreign_step step,
		const void *key, size_t key_size, const void *value, size_t size) {
	if (step == TOUCH && size > 0) walk->sum += ((const unsigned char *)value)[size / 2];
	if (step == COPY_KEY) size = 0;
	if (step == COPY || step == COPY_KEY) {
		if (key_size + size > buf->room) {
			size_t room = 2 * (key_size + size);
			char *start = realloc(buf->start, room);
			if (!start) return 0;
			buf->start = start;
			buf->room = room;
		}
		memcpy(buf->start, key, key_size);
		if (size > 0) memcpy(buf->start + key_size, value, size);
		walk->bytes += key_size;
	}
	walk->bytes += size;
	walk->entries++;
	return 1;
}

#endif
