/* SPDX-License-Identifier: Apache-2.0 */
#include "common/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Linux has 12 and 20 bits for them. */
#define MAX_MAJOR 4095
#define MAX_MINOR 1048575

static const char *skip_prefix(const char *text)
{
	return text[0] == '0' && (text[1] == 'x' || text[1] == 'X') ? text + 2 : text;
}

static size_t count_hex(const char *text)
{
	return strspn(text, "0123456789abcdefABCDEF");
}

bool text_unsigned(const char *text, int base, uint32_t *ret_value)
{
	const char *digits = base == 16 ? skip_prefix(text) : text;
	unsigned long long value;
	char *end;

	if (!isxdigit((unsigned char)*digits))
		return false;
	value = strtoull(digits, &end, base);
	if (end == digits || *end || value > UINT32_MAX)
		return false;
	*ret_value = (uint32_t)value;
	return true;
}

#define GUID_DIGITS 16 /* the shortest one's */

bool text_is_guid(const char *text)
{
	size_t digits = 0;

	for (const char *at = text; *at; at++) {
		if (isxdigit((unsigned char)*at))
			digits++;
		else if (*at != ':' && *at != '-')
			return false;
	}
	return digits >= GUID_DIGITS;
}

bool text_device_number(const char *text, uint32_t *ret_major, uint32_t *ret_minor)
{
	size_t length = strcspn(text, ":");
	char before[16];

	if (text[length] != ':' || length >= sizeof(before))
		return false;
	memcpy(before, text, length);
	before[length] = '\0';
	return text_unsigned(before, 10, ret_major) && *ret_major <= MAX_MAJOR &&
	       text_unsigned(text + length + 1, 10, ret_minor) && *ret_minor <= MAX_MINOR;
}

static char lower(char c)
{
	if (c >= 'A' && c <= 'F')
		return (char)(c - 'A' + 'a');
	return c;
}

bool text_hex_id(const char *text, char id[TEXT_ID])
{
	const char *digits = skip_prefix(text);
	size_t length = count_hex(digits);
	size_t pad = length < 4 ? 4 - length : 0;

	if (length == 0 || digits[length] || length > 16)
		return false;
	memset(id, '0', pad);
	for (size_t i = 0; i <= length; i++)
		id[pad + i] = lower(digits[i]);
	return true;
}

bool text_same_hex(const char *a, const char *b)
{
	char left[TEXT_ID];
	char right[TEXT_ID];

	if (!text_hex_id(a, left) || !text_hex_id(b, right))
		return false;
	return strcmp(left + strspn(left, "0"), right + strspn(right, "0")) == 0;
}

static const char *skip_digits(const char *text, size_t least, size_t most)
{
	size_t length = strspn(text, "0123456789abcdef");

	return length >= least && length <= most ? text + length : NULL;
}

bool text_is_pci_address(const char *text)
{
	const char *at = skip_digits(text, 4, 8);

	if (at)
		at = *at == ':' ? skip_digits(at + 1, 2, 2) : NULL;
	if (at)
		at = *at == ':' ? skip_digits(at + 1, 2, 2) : NULL;
	return at && at[0] == '.' && at[1] >= '0' && at[1] <= '7' && at[2] == '\0';
}
