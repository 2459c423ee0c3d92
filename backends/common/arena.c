/* SPDX-License-Identifier: Apache-2.0 */
#include "common/arena.h"

#include <errno.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_SIZE 16384

struct arena_chunk {
	struct arena_chunk *next;
	size_t used, size;
	alignas(max_align_t) char bytes[];
};

static struct arena_chunk *chunk_new(struct arena *arena, size_t least)
{
	size_t size = least > CHUNK_SIZE ? least : CHUNK_SIZE;
	struct arena_chunk *chunk = calloc(1, sizeof(*chunk) + size);

	if (!chunk)
		return NULL;
	chunk->size = size;
	chunk->next = arena->chunks;
	arena->chunks = chunk;
	return chunk;
}

void *arena_alloc(struct arena *arena, size_t size)
{
	size_t rounded = (size + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
	struct arena_chunk *chunk = arena->chunks;
	void *result;

	if (!chunk || chunk->size - chunk->used < rounded)
		chunk = chunk_new(arena, rounded);
	if (!chunk)
		return NULL;
	result = chunk->bytes + chunk->used;
	chunk->used += rounded;
	return result;
}

char *arena_strndup(struct arena *arena, const char *text, size_t length)
{
	char *copy = arena_alloc(arena, length + 1);

	if (copy)
		memcpy(copy, text, length);
	return copy;
}

char *arena_strdup(struct arena *arena, const char *text)
{
	return arena_strndup(arena, text, strlen(text));
}

char *arena_printf(struct arena *arena, const char *format, ...)
{
	va_list args;
	char *text;
	int length;

	va_start(args, format);
	length = vsnprintf(NULL, 0, format, args);
	va_end(args);
	text = length < 0 ? NULL : arena_alloc(arena, (size_t)length + 1);
	if (!text)
		return NULL;
	va_start(args, format);
	vsnprintf(text, (size_t)length + 1, format, args);
	va_end(args);
	return text;
}

void arena_free(struct arena *arena)
{
	while (arena->chunks) {
		struct arena_chunk *chunk = arena->chunks;

		arena->chunks = chunk->next;
		free(chunk);
	}
}

void arena_join(struct arena *arena, struct arena *other)
{
	struct arena_chunk **end = &other->chunks;

	while (*end)
		end = &(*end)->next;
	*end = arena->chunks;
	arena->chunks = other->chunks;
	other->chunks = NULL;
}

static int list_grow(struct arena *arena, struct list *list)
{
	uint32_t capacity = list->capacity ? list->capacity * 2 : 8;
	void **items = arena_alloc(arena, capacity * sizeof(*items));

	if (!items)
		return -ENOMEM;
	if (list->n)
		memcpy(items, list->items, list->n * sizeof(*items));
	list->items = items;
	list->capacity = capacity;
	return 0;
}

int list_add(struct arena *arena, struct list *list, void *item)
{
	if (!item || (list->n == list->capacity && list_grow(arena, list) < 0))
		return -ENOMEM;
	list->items[list->n++] = item;
	return 0;
}
