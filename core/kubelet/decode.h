/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes protobuf messages of a peer without trusting them: a megabyte of empty
 * repeated messages would become sixty in memory, so each decoding has a budget in
 * proportion to the bytes that came; and the library's strings end at the first NUL
 * whatever the sender meant, so the length of each is remembered.
 */
#pragma once

#include <glib.h>
#include <protobuf-c/protobuf-c.h>

struct decode_budget {
	ProtobufCAllocator allocator;
	gsize left;
};

/* NULL if the bytes are no such message, or one that takes more than the budget.
 * Free with decode_free. */
gpointer decode_message(struct decode_budget *budget, const ProtobufCMessageDescriptor *type,
			GBytes *bytes);
void decode_free(struct decode_budget *budget, gpointer message);

/* TRUE if a string of a repeated field of a decoded message has no NUL inside. */
gboolean decode_string_is_whole(const char *text);
