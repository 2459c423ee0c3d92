/* SPDX-License-Identifier: Apache-2.0 */
#include "support/config_builder.h"

#include <stdlib.h>
#include <string.h>

static int index_of(const char *const *names, gsize n_names, const char *name)
{
	for (gsize i = 0; i < n_names; i++)
		if (strcmp(names[i], name) == 0)
			return (int)i;
	g_error("config builder: '%s' is not known", name);
}

static enum char_rule rule_of(const char *name)
{
	static const char *const names[] = {
		[CHAR_OFF] = "off", [CHAR_OPTIONAL] = "optional", [CHAR_REQUIRED] = "required"};

	return (enum char_rule)index_of(names, G_N_ELEMENTS(names), name);
}

static enum health_policy policy_of(const char *name)
{
	static const char *const names[] = {[HEALTH_PER_DEVICE] = "perDevice",
					    [HEALTH_ANY_DEVICE] = "anyDevice",
					    [HEALTH_ALL_DEVICES] = "allDevices",
					    [HEALTH_OFF] = "off"};

	return (enum health_policy)index_of(names, G_N_ELEMENTS(names), name);
}

static enum resource_mode mode_of(const char *name)
{
	static const char *const names[] = {[RESOURCE_SHARED] = "shared",
					    [RESOURCE_EXCLUSIVE] = "exclusive",
					    [RESOURCE_AUTO] = "auto"};

	return (enum resource_mode)index_of(names, G_N_ELEMENTS(names), name);
}

/* FALSE if the key is not one of the resource itself. */
static gboolean take_option(ResourceConfig *config, const char *key, const char *value)
{
	if (strcmp(key, "hcaMax") == 0)
		config->rdma_hca_max = (int)strtol(value, NULL, 10);
	else if (strcmp(key, "mode") == 0)
		config->mode = mode_of(value);
	else if (strcmp(key, "policy") == 0)
		config->health_policy = policy_of(value);
	else if (strcmp(key, "topology") == 0)
		config->topology = (int)strtol(value, NULL, 10);
	else if (strcmp(key, "hcaList") == 0)
		config->env_hca_list = g_strdup(value);
	else if (strcmp(key, "rdma_cm") == 0)
		config->rdma_cm = rule_of(value);
	else if (strcmp(key, "umad") == 0)
		config->umad = rule_of(value);
	else if (strcmp(key, "issm") == 0)
		config->issm = rule_of(value);
	else
		return FALSE;
	return TRUE;
}

static void take_list(struct selector *selector, const char *key, const char *value)
{
	GStrv values = g_strsplit(value, ",", -1);
	int i;

	for (i = 0; values[i] != NULL; i++)
		g_strdelimit(values[i], ";", ',');
	if (*key == '@') {
		if (selector->attributes == NULL)
			selector->attributes = g_hash_table_new_full(
				g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_strfreev);
		g_hash_table_insert(selector->attributes, g_strdup(key + 1), values);
		return;
	}
	for (i = 0; i < SELECTOR_N_KEYS && strcmp(selector_key_name(i), key) != 0; i++)
		;
	if (i == SELECTOR_N_KEYS)
		g_error("config builder: '%s' is not known", key);
	selector->values[i] = values;
}

static void take_word(ResourceConfig *config, const char *word)
{
	struct selector *selector =
		g_ptr_array_index(config->selectors, config->selectors->len - 1);
	g_auto(GStrv) pair = g_strsplit(word, "=", 2);

	if (strcmp(word, "|") == 0) {
		g_ptr_array_add(config->selectors, selector_new());
		return;
	}
	if (*word == '!' && selector->exclude == NULL)
		selector->exclude = selector_new();
	if (strcmp(word, "!") == 0 || *word == '\0')
		return;
	if (g_strv_length(pair) != 2)
		g_error("config builder: '%s' is no KEY=VALUE", word);
	if (*word == '!')
		take_list(selector->exclude, pair[0] + 1, pair[1]);
	else if (!take_option(config, pair[0], pair[1]))
		take_list(selector, pair[0], pair[1]);
}

ResourceConfig *config_build(const char *words)
{
	ResourceConfig *config = resource_config_new();
	g_auto(GStrv) list = g_strsplit(words, " ", -1);

	config->prefix = g_strdup("rdma");
	config->name = g_strdup("r");
	config->full_name = g_strdup("rdma/r");
	config->bus = g_strdup("pci");
	g_ptr_array_add(config->selectors, selector_new());
	for (gsize i = 0; list[i] != NULL; i++)
		take_word(config, list[i]);
	return config;
}
