/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a backend may be used: it is rehearsed in a process of its own, then loaded.
 * One that is refused is tried again when its file changes.
 */
#pragma once

#include "edge/settings.h"
#include "rdmadp/backend.h"

typedef struct admission Admission;

struct admission_ops {
	/* Once. */
	void (*accepted)(const struct rdmadp_backend *vtable, gpointer data);
	/* Each time that it is; why is said already. */
	void (*refused)(gpointer data);
};

/* 'program' is this executable. Nothing happens before admission_try. */
Admission *admission_new(const Settings *settings, const char *program, const char *name,
			 const struct admission_ops *ops, gpointer data);
void admission_free(Admission *admission);

/* Once more; nothing while a try is under way or after it was accepted. */
void admission_try(Admission *admission);
/* Why it was refused; NULL if it was not. */
const char *admission_refusal(const Admission *admission);
