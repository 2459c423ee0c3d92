/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/collect.h"

#include <errno.h>
#include <string.h>

#include "edge/log.h"

/* Far above any machine; stops a backend that never ends. */
#define MAX_DEVICES 65536
/* Faults told of one scan. */
#define MAX_COMPLAINTS 20
/* Linux' own bound for errno values in return codes. */
#define MAX_ERRNO 4095

struct collector {
	const char *area;
	GPtrArray *devices;
	GHashTable *ids; /* of the devices; borrowed from them */
	GHashTable *complaints; /* char *, of this scan */
	GHashTable *old_complaints; /* of the scan before */
	int status;
};

G_DEFINE_QUARK(backend_error, backend_error)

static GHashTable *text_set(void)
{
	return g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
}

Collector *collector_new(const char *area)
{
	Collector *collector = g_new0(Collector, 1);

	collector->area = area;
	collector->devices = g_ptr_array_new_with_free_func((GDestroyNotify)device_unref);
	collector->ids = g_hash_table_new(g_str_hash, g_str_equal);
	collector->complaints = text_set();
	collector->old_complaints = text_set();
	return collector;
}

void collector_free(Collector *collector)
{
	if (!collector)
		return;
	g_hash_table_unref(collector->ids);
	g_ptr_array_unref(collector->devices);
	g_hash_table_unref(collector->complaints);
	g_hash_table_unref(collector->old_complaints);
	g_free(collector);
}

void collector_begin(Collector *collector)
{
	GHashTable *swap = collector->old_complaints;

	collector->old_complaints = collector->complaints;
	collector->complaints = swap;
	g_hash_table_remove_all(collector->complaints);
	collector->status = 0;
}

/* Takes the text over. */
static void complain(Collector *collector, char *text)
{
	if (g_hash_table_size(collector->complaints) >= MAX_COMPLAINTS) {
		g_free(text);
		text = g_strdup("more faults like these are not logged");
	}
	if (!g_hash_table_contains(collector->complaints, text) &&
	    !g_hash_table_contains(collector->old_complaints, text))
		log_warning(collector->area, "%s", text);
	g_hash_table_add(collector->complaints, text);
}

int collector_add(Collector *collector, const struct rdmadp_device *reported)
{
	g_autoptr(Device) device = NULL;
	g_autoptr(GError) error = NULL;

	if (collector->status == 0 && collector->devices->len >= MAX_DEVICES)
		collector->status = -EOVERFLOW;
	if (collector->status != 0)
		return collector->status;
	if (reported)
		device = device_copy(reported, &error);
	if (!device) {
		complain(collector, g_strdup_printf("a reported device is left out: %s",
						    error ? error->message : "it is NULL"));
		return 0;
	}
	if (g_hash_table_contains(collector->ids, device_id(device))) {
		complain(collector,
			 g_strdup_printf("device '%s' was reported more than once in one scan; "
					 "the first report counts",
					 device_id(device)));
		return 0;
	}
	g_hash_table_add(collector->ids, (gpointer)device_id(device));
	g_ptr_array_add(collector->devices, g_steal_pointer(&device));
	return 0;
}

static int compare_texts(gconstpointer a, gconstpointer b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

GPtrArray *collector_complaints(const Collector *collector)
{
	GPtrArray *texts = g_ptr_array_new_with_free_func(g_free);
	GHashTableIter iter;
	gpointer text;

	g_hash_table_iter_init(&iter, collector->complaints);
	while (g_hash_table_iter_next(&iter, &text, NULL))
		g_ptr_array_add(texts, g_strdup(text));
	g_ptr_array_sort(texts, compare_texts);
	return texts;
}

static int compare_devices(gconstpointer a, gconstpointer b)
{
	return device_compare(*(const Device *const *)a, *(const Device *const *)b);
}

static GPtrArray *take_devices(Collector *collector)
{
	GPtrArray *devices = collector->devices;

	g_hash_table_remove_all(collector->ids);
	collector->devices = g_ptr_array_new_with_free_func((GDestroyNotify)device_unref);
	g_ptr_array_sort(devices, compare_devices);
	return devices;
}

GPtrArray *collector_end(Collector *collector, int result, GError **error)
{
	g_autoptr(GPtrArray) devices = take_devices(collector);
	g_autofree char *reason = NULL;

	/* a backend that swallows what emit answered must not make the scan look whole */
	if (result == 0)
		result = collector->status;
	if (result == 0)
		return g_steal_pointer(&devices);
	reason = collect_failure(result);
	g_set_error(error, BACKEND_ERROR, BACKEND_ERROR_SCAN, "scan failed: %s", reason);
	return NULL;
}

char *collect_failure(int result)
{
	if (result < 0 && result >= -MAX_ERRNO)
		return g_strdup(g_strerror(-result));
	return g_strdup_printf("it returned %d, which is neither 0 nor a negative errno", result);
}

/* Replaces what is not UTF-8 or is a control character, byte by byte. */
static void clean_text(char *text)
{
	const char *end;

	while (!g_utf8_validate(text, -1, &end))
		text[end - text] = '?';
	for (; *text; text++)
		if (g_ascii_iscntrl(*text))
			*text = ' ';
}

void collect_health(int result, struct rdmadp_health *health)
{
	health->size = sizeof(*health);
	health->text[sizeof(health->text) - 1] = '\0';
	clean_text(health->text);
	if (result != 0) {
		g_autofree char *reason = collect_failure(result);

		health->state = RDMADP_HEALTH_UNKNOWN;
		g_snprintf(health->text, sizeof(health->text), "health read failed: %s", reason);
	} else if (health->state > RDMADP_UNHEALTHY) {
		g_snprintf(health->text, sizeof(health->text),
			   "the backend answered state %u, which is none", health->state);
		health->state = RDMADP_HEALTH_UNKNOWN;
	}
	if (health->state != RDMADP_UNHEALTHY)
		health->reason = RDMADP_REASON_NONE;
	else if (health->reason == RDMADP_REASON_NONE || health->reason > RDMADP_REASON_VENDOR)
		health->reason = RDMADP_REASON_VENDOR;
}
