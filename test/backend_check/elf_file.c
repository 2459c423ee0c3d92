/* SPDX-License-Identifier: Apache-2.0 */
#include "elf_file.h"

#include <elf.h>
#include <string.h>

#define ELF_ERROR G_FILE_ERROR, G_FILE_ERROR_INVAL

struct elf_file {
	GMappedFile *map;
	const char *content;
	gsize size;
	const Elf64_Shdr *sections;
	gsize n_sections;
};

/* The bytes at an offset that the file gives, or NULL if it does not have them. */
static const void *elf_at(const struct elf_file *file, guint64 offset, guint64 size)
{
	return offset <= file->size && size <= file->size - offset ? file->content + offset : NULL;
}

static const char *elf_text(const struct elf_file *file, const Elf64_Shdr *table, guint64 offset)
{
	const char *text = elf_at(file, table->sh_offset, table->sh_size);

	if (!text || offset >= table->sh_size ||
	    !memchr(text + offset, '\0', table->sh_size - offset))
		return NULL;
	return text + offset;
}

static gboolean elf_read_header(struct elf_file *file, GError **error)
{
	const Elf64_Ehdr *header = elf_at(file, 0, sizeof(*header));

	if (!header || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
	    header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_type != ET_DYN) {
		g_set_error_literal(error, ELF_ERROR, "it is not a 64-bit ELF shared object");
		return FALSE;
	}
	file->n_sections = header->e_shnum;
	file->sections =
		elf_at(file, header->e_shoff, (guint64)header->e_shnum * sizeof(Elf64_Shdr));
	if (file->sections && file->n_sections > 0 && header->e_shoff % 8 == 0 &&
	    header->e_shentsize == sizeof(Elf64_Shdr))
		return TRUE;
	g_set_error_literal(error, ELF_ERROR, "its section headers are missing or damaged");
	return FALSE;
}

static const Elf64_Shdr *elf_find_section(const struct elf_file *file, guint32 type)
{
	for (gsize i = 0; i < file->n_sections; i++)
		if (file->sections[i].sh_type == type)
			return &file->sections[i];
	return NULL;
}

static gboolean is_exported(const Elf64_Sym *symbol)
{
	guint binding = ELF64_ST_BIND(symbol->st_info);
	guint visibility = ELF64_ST_VISIBILITY(symbol->st_other);

	return symbol->st_shndx != SHN_UNDEF && binding != STB_LOCAL &&
	       (visibility == STV_DEFAULT || visibility == STV_PROTECTED);
}

/* Symbols that older linkers put into every object. */
static gboolean is_linkers_own(const char *name)
{
	static const char *const names[] = {"_init", "_fini",	    "_edata",
					    "_end",  "__bss_start", NULL};

	return g_strv_contains(names, name);
}

static GPtrArray *elf_read_symbols(const struct elf_file *file, GError **error)
{
	const Elf64_Shdr *table = elf_find_section(file, SHT_DYNSYM);
	const Elf64_Sym *symbols = table ? elf_at(file, table->sh_offset, table->sh_size) : NULL;
	GPtrArray *names = g_ptr_array_new_with_free_func(g_free);

	if (!symbols || table->sh_offset % 8 != 0 || table->sh_link >= file->n_sections) {
		g_set_error_literal(error, ELF_ERROR, "its dynamic symbols are missing or damaged");
		g_ptr_array_unref(names);
		return NULL;
	}
	for (gsize i = 0; i < table->sh_size / sizeof(*symbols); i++) {
		const char *name =
			elf_text(file, &file->sections[table->sh_link], symbols[i].st_name);

		if (name && is_exported(&symbols[i]) && !is_linkers_own(name))
			g_ptr_array_add(names, g_strdup(name));
	}
	return names;
}

GPtrArray *elf_file_exports(const char *path, GError **error)
{
	struct elf_file file = {.map = g_mapped_file_new(path, FALSE, error)};
	GPtrArray *names = NULL;

	if (!file.map)
		return NULL;
	file.content = g_mapped_file_get_contents(file.map);
	file.size = g_mapped_file_get_length(file.map);
	if (elf_read_header(&file, error))
		names = elf_read_symbols(&file, error);
	g_mapped_file_unref(file.map);
	return names;
}
