/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/reasons.h"

#include <string.h>

#include "model/mixture.h"
#include "model/netns.h"
#include "model/text.h"

/* More ids than this help nobody. */
#define SHOWN 4

/* --- one device --- */

static char *with_remedy(const struct hca *hca, const char *problem)
{
	return hca->remedy == NULL ? g_strdup(problem)
				   : g_strdup_printf("%s; %s", problem, hca->remedy);
}

static struct verdict verdict_of_hca(const struct hca *hca)
{
	const char *problem = hca_problem(hca);

	if (problem == NULL)
		return (struct verdict){.word = "taken"};
	return (struct verdict){.word = "taken, not usable", .why = with_remedy(hca, problem)};
}

static struct verdict verdict_of_refusal(const Device *device, struct refusal refusal)
{
	gboolean assumed = strcmp(refusal.key, "vendors") == 0 &&
			   device_attribute(device, "vendor_assumed") != NULL;

	const char *note = assumed ? " (assumed: the device does not say)" : "";
	struct verdict verdict = {.word = "refused", .refusal = refusal};

	if (g_str_has_prefix(refusal.key, "exclude"))
		verdict.why = g_strdup_printf("%s: %s is excluded", refusal.key, refusal.seen);
	else
		verdict.why = g_strdup_printf("%s: has %s%s, wanted %s", refusal.key, refusal.seen,
					      note, refusal.wanted);
	return verdict;
}

static struct verdict verdict_of_overlap(const struct overlap *overlap)
{
	const char *why = overlap->kind == OVERLAP_PARENT ? "gives away virtual functions of it"
							  : "comes first in the file and has it";

	return (struct verdict){
		.word = "refused",
		.why = g_strdup_printf("\"%s\" %s", overlap->first->full_name, why),
	};
}

struct verdict verdict_take(const Survey *survey, const struct survey_resource *resource,
			    const Device *device)
{
	const struct overlap *lost = survey_lost(survey, resource, device);
	struct refusal refusal = {0};
	const struct hca *hca;

	if (!survey_judge(resource, device, &refusal))
		return verdict_of_refusal(device, refusal);
	if (lost != NULL)
		return verdict_of_overlap(lost);
	hca = resource_find(resource->resource, device_identity(device));
	if (hca != NULL)
		return verdict_of_hca(hca);
	return (struct verdict){.word = "taken, not usable",
				.why = g_strdup("RDMA network namespace mode, see above")};
}

void verdict_clear(struct verdict *verdict)
{
	g_free(verdict->why);
	refusal_clear(&verdict->refusal);
}

/* --- a resource --- */

static void add_overlaps(GPtrArray *findings, const Survey *survey, const ResourceConfig *config)
{
	g_autoptr(GPtrArray) ours = g_ptr_array_new();

	for (guint i = 0; i < survey->overlaps->len; i++) {
		struct overlap *overlap = g_ptr_array_index(survey->overlaps, i);

		if (overlap->first == config || overlap->second == config)
			g_ptr_array_add(ours, overlap);
	}
	overlap_tell(ours, findings);
}

static gboolean has_problem(const struct hca *hca, const char *problem)
{
	return hca_problem(hca) != NULL && strcmp(hca_problem(hca), problem) == 0;
}

/* "2 devices (0000:3b:00.0, 0000:5e:00.0): no driver is bound; load mlx5_core" */
static void add_group(GPtrArray *findings, GPtrArray *hcas, const struct hca *first)
{
	const char *problem = hca_problem(first);
	g_autofree char *advice = with_remedy(first, problem);
	g_autofree char *count = NULL;
	g_autoptr(GString) ids = g_string_new(NULL);
	guint n = 0;

	for (guint i = 0; i < hcas->len; i++) {
		const struct hca *hca = g_ptr_array_index(hcas, i);

		if (has_problem(hca, problem) && n++ < SHOWN)
			g_string_append_printf(ids, "%s%s", n > 1 ? ", " : "",
					       device_id(hca->device));
	}
	count = text_count(n, "device");
	findings_add(findings, FINDING_WARNING, "%s (%s%s): %s", count, ids->str,
		     n > SHOWN ? ", …" : "", advice);
}

static gboolean is_first_with_problem(GPtrArray *hcas, guint i)
{
	const char *problem = hca_problem(g_ptr_array_index(hcas, i));

	for (guint j = 0; problem != NULL && j < i; j++)
		if (has_problem(g_ptr_array_index(hcas, j), problem))
			return FALSE;
	return problem != NULL;
}

static void add_hcas(GPtrArray *findings, const struct survey_resource *resource)
{
	GPtrArray *hcas = resource_hcas(resource->resource);

	for (guint i = 0; i < hcas->len; i++)
		if (is_first_with_problem(hcas, i))
			add_group(findings, hcas, g_ptr_array_index(hcas, i));
}

/* Why there is nothing to offer, and which selectors are good for nothing. */
static void add_trouble(GPtrArray *findings, const struct survey_resource *resource)
{
	const ResourceConfig *config = resource_config(resource->resource);
	g_autofree char *trouble = resource_trouble(resource->resource);
	g_autoptr(GPtrArray) candidates = survey_candidates(resource);

	if (trouble != NULL && config->rdma_hca_max == 0)
		findings_add(findings, FINDING_WARNING, "%s", trouble);
	if (trouble != NULL)
		add_hcas(findings, resource);
	for (guint i = 0; i < candidates->len; i++)
		findings_add(findings, FINDING_WARNING, "%s",
			     (const char *)g_ptr_array_index(candidates, i));
}

/* Of the tree of another machine the device files are not there. */
static void add_extra_devices(GPtrArray *findings, const Survey *survey,
			      const ResourceConfig *config)
{
	const char *const *patterns = (const char *const *)config->extra_devices;
	g_autoptr(GError) error = NULL;
	g_auto(GStrv) paths = NULL;

	if (patterns == NULL || !survey->has_dev)
		return;
	paths = node_check_expand(survey->node_check, patterns, &error);
	if (paths == NULL)
		findings_add(findings, FINDING_WARNING, "%s: no pod can get the resource",
			     error->message);
}

/* All but overlaps. */
static void add_reasons(GPtrArray *findings, const Survey *survey,
			const struct survey_resource *resource)
{
	const char *refusal = netns_refusal(resource->exclusive, survey->netns_is_exclusive);
	const char *remark = netns_remark(resource->exclusive, survey->netns_is_exclusive);
	g_autofree char *mixture = mixture_remark(resource->taken);

	if (resource->bus->trouble != NULL)
		findings_add(findings, FINDING_ERROR, "%s", resource->bus->trouble);
	if (refusal != NULL)
		findings_add(findings, FINDING_ERROR, "%s", refusal);
	if (resource->bus->trouble == NULL && refusal == NULL)
		add_trouble(findings, resource);
	add_extra_devices(findings, survey, resource_config(resource->resource));
	if (mixture != NULL)
		findings_add(findings, FINDING_WARNING, "%s", mixture);
	if (remark != NULL)
		findings_add(findings, FINDING_WARNING, "%s", remark);
}

GPtrArray *reasons_list(const Survey *survey, const struct survey_resource *resource)
{
	GPtrArray *findings = findings_new();

	add_reasons(findings, survey, resource);
	add_overlaps(findings, survey, resource_config(resource->resource));
	return findings;
}

/* --- all resources --- */

static gboolean has_finding(GPtrArray *list, const struct finding *wanted)
{
	for (guint i = 0; i < list->len; i++) {
		const struct finding *finding = g_ptr_array_index(list, i);

		if (finding->level == wanted->level && strcmp(finding->text, wanted->text) == 0)
			return TRUE;
	}
	return FALSE;
}

/* "rdma/a, rdma/b": whom it concerns, or NULL if one before 'first' has told it. */
static char *concerned(const Survey *survey, const GPtrArray *lists, guint first,
		       const struct finding *finding)
{
	g_autoptr(GString) names = g_string_new(NULL);

	for (guint i = 0; i < lists->len; i++) {
		const struct survey_resource *resource = g_ptr_array_index(survey->resources, i);

		if (!has_finding(g_ptr_array_index(lists, i), finding))
			continue;
		if (i < first)
			return NULL;
		g_string_append_printf(names, "%s%s", names->len > 0 ? ", " : "",
				       resource_config(resource->resource)->full_name);
	}
	return g_string_free(g_steal_pointer(&names), FALSE);
}

/* What holds for several resources is said once. */
void reasons_tell(const Survey *survey, GPtrArray *findings)
{
	g_autoptr(GPtrArray) lists =
		g_ptr_array_new_with_free_func((GDestroyNotify)g_ptr_array_unref);

	for (guint i = 0; i < survey->resources->len; i++) {
		g_ptr_array_add(lists, findings_new());
		add_reasons(lists->pdata[i], survey, g_ptr_array_index(survey->resources, i));
	}
	for (guint i = 0; i < lists->len; i++) {
		const GPtrArray *list = g_ptr_array_index(lists, i);

		for (guint j = 0; j < list->len; j++) {
			const struct finding *finding = g_ptr_array_index(list, j);
			g_autofree char *names = concerned(survey, lists, i, finding);

			if (names != NULL)
				findings_add_at(findings, finding->level, names, "%s",
						finding->text);
		}
	}
	overlap_tell(survey->overlaps, findings);
}
