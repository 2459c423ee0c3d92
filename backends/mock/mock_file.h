/* SPDX-License-Identifier: Apache-2.0 */
/* The file of devices; README.md describes its format. */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

#include "rdmadp/backend.h"

enum { MOCK_MAX_LINES = 100 }; /* of one device, and so the room in each of its lists */

/* What one line gives. All of these begin with their size. */
union mock_item {
	uint32_t size;
	struct rdmadp_attribute attribute;
	struct rdmadp_rdma_device rdma;
	struct rdmadp_port port;
	struct rdmadp_netdev net;
	struct rdmadp_node node;
};

/* A device as the contract wants it. Its lists are arrays of pointers that lead to the
 * items here; all text lies in the file's buffer. */
struct mock_device {
	struct mock_device *next;
	unsigned int n_lines;
	bool is_bad; /* one of its lines is wrong: to be left out */
	struct rdmadp_health health;
	double flap; /* seconds between two changes, or 0 */
	double hang; /* seconds that a health read blocks, or 0 */
	struct rdmadp_device abi;

	union mock_item items[MOCK_MAX_LINES]; /* by the number of the line */
	const struct rdmadp_attribute *attribute_list[MOCK_MAX_LINES];
	const struct rdmadp_rdma_device *rdma_device_list[MOCK_MAX_LINES];
	const struct rdmadp_port *port_list[MOCK_MAX_LINES]; /* one RDMA device after another */
	uint32_t n_ports;
	const struct rdmadp_netdev *netdev_list[MOCK_MAX_LINES];
	const struct rdmadp_node *node_list[MOCK_MAX_LINES];
};

struct mock_file {
	unsigned int users; /* the caller's */
	struct stat status; /* zero if it does not exist */
	struct mock_device *devices; /* the last of the file first */
	int discover_error; /* negative errno, or 0 */
	double discover_hang; /* seconds, or 0 */
	char *text;
};

extern const char *const mock_keys[]; /* the attributes that a file may give */

/* 0 or a negative errno. A file that does not exist is as an empty one. Wrong lines are
 * logged, unless host is NULL. */
int mock_file_read(const char *path, const struct rdmadp_host *host, struct mock_file **ret_file);
void mock_file_free(struct mock_file *file);

/* NULL if there is no good one with this id. */
const struct mock_device *mock_file_find(const struct mock_file *file, const char *id);
