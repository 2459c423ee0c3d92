/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of one scan: everything that a scan finds is allocated here and freed in one
 * step when it ends, so no path of a scan has anything to clean up.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct arena_chunk;

struct arena {
	struct arena_chunk *chunks; /* the newest first; NULL at the start */
};

/* Zeroed; NULL when out of memory, as all functions that return a pointer here. */
void *arena_alloc(struct arena *arena, size_t size);
char *arena_strndup(struct arena *arena, const char *text, size_t length);
char *arena_strdup(struct arena *arena, const char *text);
char *arena_printf(struct arena *arena, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void arena_free(struct arena *arena);
/* What 'other' has given is the first one's from now on; 'other' is as at the start. */
void arena_join(struct arena *arena, struct arena *other);

/* A growing array of pointers, itself in an arena. */
struct list {
	void **items;
	uint32_t n;
	uint32_t capacity;
};

/* 0, or -ENOMEM; also when 'item' is NULL, so that it can be what arena_alloc gave. */
int list_add(struct arena *arena, struct list *list, void *item);
