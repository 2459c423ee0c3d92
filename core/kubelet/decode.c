/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/decode.h"

#include <stdlib.h>
#include <string.h>

/* What honest messages take is about ten times their size; hostile ones reach 56. */
#define BUDGET_FACTOR 64
#define BUDGET_LEAST ((gsize)4096)
#define BUDGET_MOST ((gsize)64 * 1024 * 1024)

union block {
	gsize size;
	max_align_t align;
};

static void *budget_alloc(void *data, size_t size)
{
	struct decode_budget *budget = data;
	union block *block;

	if (budget->left < sizeof(*block) || size > budget->left - sizeof(*block))
		return NULL;
	budget->left -= size + sizeof(*block);
	block = g_malloc(sizeof(*block) + size);
	block->size = size;
	return block + 1;
}

static void budget_free(void *data, void *pointer)
{
	(void)data;
	if (pointer)
		g_free((union block *)pointer - 1);
}

gpointer decode_message(struct decode_budget *budget, const ProtobufCMessageDescriptor *type,
			GBytes *bytes)
{
	gsize size;
	const guint8 *data = g_bytes_get_data(bytes, &size);

	budget->allocator = (ProtobufCAllocator){
		.alloc = budget_alloc, .free = budget_free, .allocator_data = budget};
	budget->left = BUDGET_LEAST + MIN(size, BUDGET_MOST / BUDGET_FACTOR) * BUDGET_FACTOR;
	return protobuf_c_message_unpack(type, &budget->allocator, size, data);
}

void decode_free(struct decode_budget *budget, gpointer message)
{
	protobuf_c_message_free_unpacked(message, &budget->allocator);
}

gboolean decode_string_is_whole(const char *text)
{
	const union block *block = (const union block *)(const void *)text - 1;

	return strlen(text) + 1 == block->size;
}
