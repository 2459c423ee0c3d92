/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resources for the tests, and what they offer as short text.
 */
#pragma once

#include "model/resource.h"
#include "support/config_builder.h"
#include "support/device_builder.h"

/* From the words of config_build. */
Resource *resource_build(const char *config);

/* A scan found what the words describe (device_build); NULL-terminated. */
void resource_found(Resource *resource, const char *const *words);
#define FOUND(resource, ...) resource_found(resource, (const char *const[]){__VA_ARGS__, NULL})

/* A scan found n complete HCAs h0, h1, ... in the NUMA nodes 0, 1, 0, 1, ... */
void resource_found_n(Resource *resource, guint n);

/* The list that the kubelet sees, a letter a slot: "HHU". */
char *resource_slots_text(const Resource *resource);
/* The names of the files, without directories: "rdma_cm uverbs0". */
char *resource_files_text(const Resource *resource);

#define EXPECT_TEXT(text, expected)                                                                \
	do {                                                                                       \
		g_autofree char *expect_text = (text);                                             \
		assert_string_equal(expect_text == NULL ? "none" : expect_text, expected);         \
	} while (0)
#define EXPECT_SLOTS(resource, expected) EXPECT_TEXT(resource_slots_text(resource), expected)
#define EXPECT_FILES(resource, expected) EXPECT_TEXT(resource_files_text(resource), expected)
#define EXPECT_TROUBLE(resource, expected) EXPECT_TEXT(resource_trouble(resource), expected)
