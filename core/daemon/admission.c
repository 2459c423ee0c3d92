/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/admission.h"

#include "edge/file_watch.h"
#include "edge/log.h"
#include "edge/module.h"
#include "edge/rehearsal.h"

/* Memory, processes or descriptors are short, which says nothing of the backend. Each time
 * the pause is twice as long. */
#define RETRY_S 5
#define LONGEST_RETRY_S 320

struct admission {
	const Settings *settings;
	char *program;
	char *name;
	char *area; /* of its log messages: "backend pci" */
	struct admission_ops ops;
	gpointer data;
	Rehearsal *rehearsal; /* of the last try */
	gboolean is_trying;
	gboolean again; /* its file has changed meanwhile */
	gboolean is_accepted;
	char *refusal;
	FileWatch *watch; /* of its file, while it is refused */
	guint retry;
	guint pause_s; /* before the next retry */
};

Admission *admission_new(const Settings *settings, const char *program, const char *name,
			 const struct admission_ops *ops, gpointer data)
{
	Admission *admission = g_new0(Admission, 1);

	admission->settings = settings;
	admission->program = g_strdup(program);
	admission->name = g_strdup(name);
	admission->area = g_strconcat("backend ", name, NULL);
	admission->ops = *ops;
	admission->data = data;
	admission->pause_s = RETRY_S;
	return admission;
}

void admission_free(Admission *admission)
{
	if (admission == NULL)
		return;
	g_clear_handle_id(&admission->retry, g_source_remove);
	rehearsal_free(admission->rehearsal);
	file_watch_free(admission->watch);
	g_free(admission->refusal);
	g_free(admission->area);
	g_free(admission->name);
	g_free(admission->program);
	g_free(admission);
}

static void on_file_changed(gpointer data)
{
	Admission *admission = data;

	log_info(admission->area, "its file has changed: it is tried again");
	admission->again = admission->is_trying;
	admission_try(admission);
}

static void watch_file(Admission *admission)
{
	g_autofree char *file = g_strconcat(admission->name, ".so", NULL);
	g_autofree char *path = g_build_filename(admission->settings->backend_dir, file, NULL);
	g_autoptr(GError) error = NULL;

	admission->watch = file_watch_new(path, on_file_changed, admission, &error);
	if (admission->watch == NULL)
		log_warning(admission->area, "%s; changes need a SIGHUP", error->message);
}

static void refuse(Admission *admission, const char *why, const char *until)
{
	admission->is_trying = FALSE;
	if (g_strcmp0(admission->refusal, why) != 0) {
		g_free(admission->refusal);
		admission->refusal = g_strdup(why);
		log_error(admission->area, "%s; its resources stay at 0 until %s", why, until);
	}
	if (admission->watch == NULL)
		watch_file(admission);
	admission->ops.refused(admission->data);
	if (admission->again)
		admission_try(admission);
}

static gboolean on_retry(gpointer data)
{
	Admission *admission = data;

	admission->retry = 0;
	admission_try(admission);
	return G_SOURCE_REMOVE;
}

static void refuse_for_now(Admission *admission, const GError *why)
{
	refuse(admission, why->message, "it can be used: that is tried again");
	if (admission->retry != 0)
		return;
	admission->retry = g_timeout_add_seconds(admission->pause_s, on_retry, admission);
	admission->pause_s = MIN(2 * admission->pause_s, LONGEST_RETRY_S);
}

/* What has gone well in the child can only fail here because something is short. */
static void on_rehearsed(const GError *error, gpointer data)
{
	Admission *admission = data;
	const struct rdmadp_backend *vtable = NULL;
	g_autoptr(GError) trouble = NULL;

	if (g_error_matches(error, REHEARSAL_ERROR, REHEARSAL_ERROR_REFUSED)) {
		refuse(admission, error->message, "it is replaced or SIGHUP");
		return;
	}
	if (error == NULL)
		vtable = module_load(admission->settings->backend_dir, admission->name, &trouble);
	if (vtable == NULL) {
		refuse_for_now(admission, error != NULL ? error : trouble);
		return;
	}
	admission->is_trying = FALSE;
	admission->is_accepted = TRUE;
	g_clear_pointer(&admission->refusal, g_free);
	g_clear_pointer(&admission->watch, file_watch_free);
	admission->ops.accepted(vtable, admission->data);
}

void admission_try(Admission *admission)
{
	const struct rehearsal_plan plan = {
		.program = admission->program,
		.backend_dir = admission->settings->backend_dir,
		.name = admission->name,
		.sysfs_root = admission->settings->sysfs_root,
		.dev_root = admission->settings->dev_root,
	};
	g_autoptr(GError) error = NULL;

	if (admission->is_trying || admission->is_accepted)
		return;
	g_clear_pointer(&admission->rehearsal, rehearsal_free);
	admission->again = FALSE;
	admission->is_trying = TRUE;
	admission->rehearsal = rehearsal_start(&plan, on_rehearsed, admission, &error);
	if (admission->rehearsal != NULL)
		return;
	refuse_for_now(admission, error);
}

const char *admission_refusal(const Admission *admission)
{
	return admission->refusal;
}
