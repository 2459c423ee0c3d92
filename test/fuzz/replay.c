/* SPDX-License-Identifier: Apache-2.0 */
/* Gives every file of the directories on the command line to a fuzz target. */
#include <glib.h>
#include <stdint.h>
#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static guint replay_file(const char *path)
{
	g_autofree char *text = NULL;
	gsize length;
	if (!g_file_get_contents(path, &text, &length, NULL))
		return 0; /* a directory */
	LLVMFuzzerTestOneInput((const uint8_t *)text, length);
	return 1;
}

static guint replay_folder(const char *folder)
{
	GDir *dir = g_dir_open(folder, 0, NULL);
	guint n = 0;
	if (dir == NULL)
		return 0;
	for (const char *name = g_dir_read_name(dir); name != NULL; name = g_dir_read_name(dir)) {
		g_autofree char *path = g_build_filename(folder, name, NULL);
		n += replay_file(path);
	}
	g_dir_close(dir);
	return n;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		guint n = replay_folder(argv[i]);
		printf("%s: %u inputs\n", argv[i], n);
		if (n == 0)
			return 1;
	}
	return argc > 1 ? 0 : 1;
}
