/* SPDX-License-Identifier: Apache-2.0 */
/* The number formats of sysfs and of configurations. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The whole text as a number: decimal, or hexadecimal with or without 0x. */
bool text_unsigned(const char *text, int base, uint32_t *ret_value);
/* "231:192" */
bool text_device_number(const char *text, uint32_t *ret_major, uint32_t *ret_minor);

/* An id as the contract has it: "0x15B3" -> "15b3", "0x2" -> "0002"; digits after that
 * are kept as they are ("0x020000" -> "020000"). FALSE if it is not hexadecimal. */
#define TEXT_ID 20
bool text_hex_id(const char *text, char id[TEXT_ID]);
/* TRUE if both are hexadecimal and the same number; leading zeros do not count. */
bool text_same_hex(const char *a, const char *b);

/* "0000:3b:00.0": domain of 4 to 8 digits, lower case as the kernel writes it. */
bool text_is_pci_address(const char *text);
/* Groups of hexadecimal digits: "b8ce:f603:0012:3456", "cc08-8200-0-1-000000-…". */
bool text_is_guid(const char *text);
