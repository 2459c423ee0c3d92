/* SPDX-License-Identifier: Apache-2.0 */
#include "mock_file.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_WORDS = 8 };

struct reader {
	struct mock_file *file;
	struct mock_device *device; /* the one that lines belong to; NULL before the first */
	struct rdmadp_rdma_device *rdma; /* the last of it, or NULL */
	const struct statement *statement; /* the kind of this line */
};

/* A kind of line. 'parse' gets the words after the first and says if they are right.
 * It may fill the next room of a list before it knows: a device with a wrong line is
 * left out as a whole. */
struct statement {
	const char *word;
	int min_words, max_words; /* after the first */
	bool (*parse)(struct reader *reader, char **word);
	size_t value; /* the offset of the member that 'parse' sets, or the kind of node */
	const char *usage;
};

/* Those of the real buses, so that their dumps can be served. */
/* clang-format off */
const char *const mock_keys[] = {
	"vendor", "device", "subsystem_vendor", "subsystem_device", "class", "driver",
	"physfn", "pf_name", "uplink", "vf_index", "sriov_numvfs", "sfnum", /* pci */
	"vendor_assumed", "class_code", "type", "guid", "eid", "entity_idx", /* ub */
	"node_guid", /* soft */
	NULL,
};
/* clang-format on */

/* In the order of the contract's numbers; flags in the order of their bits. */
static const char *const layers[] = {"unknown", "infiniband", "ethernet", NULL};
static const char *const states[] = {"unknown", "nop",	  "down",	  "init",
				     "armed",	"active", "active-defer", NULL};
static const char *const device_flags[] = {"vf", "pf", "elsewhere", "software", NULL};
static const char *const rdma_flags[] = {"management", NULL};
static const char *const net_flags[] = {"upper", "representor", "child", NULL};

/* --- words --- */

static bool parse_name(const char *const *names, const char *word, uint32_t *ret_index)
{
	uint32_t i = 0;

	while (names[i] && strcmp(names[i], word) != 0)
		i++;
	*ret_index = i;
	return names[i];
}

static bool parse_flags(const char *const *names, char **word, uint32_t *flags)
{
	uint32_t bit = 0;

	for (; *word && parse_name(names, *word, &bit); word++)
		*flags |= 1U << bit;
	return !*word;
}

static bool parse_number(const char *word, uint32_t *ret_number)
{
	char *end;
	unsigned long number = strtoul(word, &end, 10);

	*ret_number = (uint32_t)number;
	return *word >= '0' && *word <= '9' && *end == '\0' && number <= INT32_MAX;
}

static bool parse_time(const char *word, double *ret_seconds)
{
	char *end;

	if (strcmp(word, "forever") == 0) {
		*ret_seconds = HUGE_VAL;
		return true;
	}
	*ret_seconds = strtod(word, &end);
	return end != word && *end == '\0' && *ret_seconds >= 0;
}

/* --- kinds of lines --- */

static bool parse_device(struct reader *reader, char **word)
{
	if (mock_file_find(reader->file, word[0]))
		return false;
	reader->device->abi.id = word[0];
	reader->device->abi.identity = word[0];
	return true;
}

static bool parse_text(struct reader *reader, char **word)
{
	memcpy((char *)&reader->device->abi + reader->statement->value, word, sizeof(*word));
	return true;
}

static bool parse_numa(struct reader *reader, char **word)
{
	return parse_number(word[0], (uint32_t *)&reader->device->abi.numa_node);
}

static bool parse_device_flags(struct reader *reader, char **word)
{
	return parse_flags(device_flags, word, &reader->device->abi.flags);
}

/* The room of this line. */
static union mock_item *new_item(struct reader *reader, size_t size)
{
	union mock_item *item = &reader->device->items[reader->device->n_lines - 1];

	item->size = (uint32_t)size;
	return item;
}

static bool parse_attribute(struct reader *reader, char **word)
{
	struct mock_device *device = reader->device;
	struct rdmadp_attribute *attribute = &new_item(reader, sizeof(*attribute))->attribute;
	uint32_t key;

	device->attribute_list[device->abi.n_attributes++] = attribute;
	attribute->key = word[0];
	attribute->value = word[1];
	return parse_name(mock_keys, word[0], &key);
}

static bool parse_rdma(struct reader *reader, char **word)
{
	struct mock_device *device = reader->device;
	struct rdmadp_rdma_device *rdma = &new_item(reader, sizeof(*rdma))->rdma;

	reader->rdma = rdma;
	device->rdma_device_list[device->abi.n_rdma_devices++] = rdma;
	rdma->name = word[0];
	rdma->driver = strcmp(word[1], "-") == 0 ? NULL : word[1];
	rdma->ports = &device->port_list[device->n_ports];
	return parse_flags(rdma_flags, word + 2, &rdma->flags);
}

static bool parse_port(struct reader *reader, char **word)
{
	struct mock_device *device = reader->device;
	struct rdmadp_port *port = &new_item(reader, sizeof(*port))->port;

	if (!reader->rdma)
		return false;
	reader->rdma->n_ports++;
	device->port_list[device->n_ports++] = port;
	return parse_number(word[0], &port->number) && port->number > 0 &&
	       parse_name(layers, word[1], &port->link_layer) &&
	       parse_name(states, word[2], &port->state);
}

static bool parse_net(struct reader *reader, char **word)
{
	struct mock_device *device = reader->device;
	struct rdmadp_netdev *net = &new_item(reader, sizeof(*net))->net;

	device->netdev_list[device->abi.n_netdevs++] = net;
	net->name = word[0];
	return parse_name(layers, word[1], &net->link_layer) &&
	       parse_flags(net_flags, word + 2, &net->flags);
}

static bool parse_node(struct reader *reader, char **word)
{
	struct mock_device *device = reader->device;
	struct rdmadp_node *node = &new_item(reader, sizeof(*node))->node;
	char *minor = strchr(word[1], ':');

	device->node_list[device->abi.n_nodes++] = node;
	if (!minor)
		return false;
	*minor++ = '\0';
	node->name = word[0];
	node->kind = (uint32_t)reader->statement->value;
	if (node->kind != RDMADP_NODE_RDMA_CM && reader->rdma)
		node->rdma_device = reader->rdma->name;
	return parse_number(word[1], &node->dev_major) && parse_number(minor, &node->dev_minor) &&
	       (!word[2] || parse_number(word[2], &node->port));
}

static bool parse_health(struct reader *reader, char **word)
{
	/* From 'down' on unhealthy, in the order of the contract's reasons. */
	static const char *const names[] = {"unknown", "ok",	"down",	  "files",
					    "gone",    "fatal", "vendor", NULL};
	struct rdmadp_health *health = &reader->device->health;
	uint32_t i;

	if (!parse_name(names, word[0], &i))
		return false;
	health->state = i < RDMADP_UNHEALTHY ? i : RDMADP_UNHEALTHY;
	health->reason = i < RDMADP_UNHEALTHY ? RDMADP_REASON_NONE : i - 1;
	snprintf(health->text, sizeof(health->text), "%s", word[1] ? word[1] : "");
	return true;
}

static bool parse_flap(struct reader *reader, char **word)
{
	return parse_time(word[0], &reader->device->flap);
}

static bool parse_hang(struct reader *reader, char **word)
{
	return parse_time(word[0], &reader->device->hang);
}

static bool parse_discover(struct reader *reader, char **word)
{
	uint32_t number = 0;

	if (strcmp(word[0], "hang") == 0)
		return parse_time(word[1], &reader->file->discover_hang);
	if (strcmp(word[0], "fail") != 0 || !parse_number(word[1], &number) || number == 0)
		return false;
	reader->file->discover_error = -(int)number;
	return true;
}

#define TEXT(member) parse_text, offsetof(struct rdmadp_device, member)
#define NODE(kind) parse_node, RDMADP_NODE_##kind

/* clang-format off */
static const struct statement statements[] = {
	{"device", 1, 1, parse_device, 0, "device ID, each id once"},
	{"identity", 1, 1, TEXT(identity), "identity TEXT"},
	{"parent", 1, 1, TEXT(parent_id), "parent ID"},
	{"driver", 1, 1, TEXT(driver), "driver NAME"},
	{"pcie_root", 1, 1, TEXT(pcie_root), "pcie_root NAME"},
	{"pcie_path", 1, 1, TEXT(pcie_path), "pcie_path PATH"},
	{"note", 1, 1, TEXT(note), "note \"TEXT\""},
	{"numa", 1, 1, parse_numa, 0, "numa NODE"},
	{"flags", 0, 4, parse_device_flags, 0, "flags [vf] [pf] [elsewhere] [software]"},
	{"attribute", 2, 2, parse_attribute, 0, "attribute KEY VALUE with one of the known keys"},
	{"rdma", 2, 3, parse_rdma, 0, "rdma NAME DRIVER|- [management]"},
	{"port", 3, 3, parse_port, 0, "port NUMBER infiniband|ethernet|unknown STATE below rdma"},
	{"net", 2, 5, parse_net, 0, "net NAME infiniband|ethernet|unknown [upper] [representor] [child]"},
	{"uverbs", 2, 2, NODE(UVERBS), "uverbs PATH MAJOR:MINOR"},
	{"umad", 3, 3, NODE(UMAD), "umad PATH MAJOR:MINOR PORT"},
	{"issm", 3, 3, NODE(ISSM), "issm PATH MAJOR:MINOR PORT"},
	{"rdma_cm", 2, 2, NODE(RDMA_CM), "rdma_cm PATH MAJOR:MINOR"},
	{"node", 2, 2, NODE(OTHER), "node PATH MAJOR:MINOR"},
	{"health", 1, 2, parse_health, 0, "health ok|unknown|down|files|gone|fatal|vendor [\"TEXT\"]"},
	{"flap", 1, 1, parse_flap, 0, "flap SECONDS"},
	{"hang", 1, 1, parse_hang, 0, "hang SECONDS|forever"},
	{"discover", 2, 2, parse_discover, 0, "discover fail ERRNO|hang SECONDS|hang forever"},
	{NULL, 0, 0, NULL, 0, "one of the words that README.md lists"},
};
/* clang-format on */

/* --- lines --- */

/* Splits the line in place and returns the number of words, above MAX_WORDS if there are
 * too many. A quote that is not closed ends with the line. */
static int split_line(char *line, char **word)
{
	int n = 0;

	for (char *p = line + strspn(line, " \t"); *p && *p != '#'; p += strspn(p, " \t")) {
		const char *end = *p == '"' ? "\"" : " \t";

		if (n == MAX_WORDS)
			return n + 1;
		if (*p == '"')
			p++;
		word[n++] = p;
		p += strcspn(p, end);
		if (*p)
			*p++ = '\0';
	}
	return n;
}

/* From here on lines belong to the new device, even if its first one is wrong. */
static bool start_device(struct reader *reader)
{
	struct mock_device *d = calloc(1, sizeof(*d));

	if (!d)
		return false;
	d->abi = (struct rdmadp_device){.size = sizeof(d->abi),
					.id = "",
					.numa_node = -1,
					.attributes = d->attribute_list,
					.rdma_devices = d->rdma_device_list,
					.netdevs = d->netdev_list,
					.nodes = d->node_list};
	d->health.state = RDMADP_HEALTHY;
	d->next = reader->file->devices;
	reader->file->devices = d;
	reader->device = d;
	reader->rdma = NULL;
	return true;
}

static bool read_words(struct reader *reader, char **word, int n_words)
{
	const struct statement *statement = reader->statement;

	if (!reader->device && statement->parse != parse_discover)
		return false;
	if (reader->device && ++reader->device->n_lines > MOCK_MAX_LINES)
		return false;
	return statement->parse && n_words > statement->min_words &&
	       n_words <= statement->max_words + 1 && statement->parse(reader, word + 1);
}

static const struct statement *find_statement(const char *word)
{
	const struct statement *statement = statements;

	while (statement->word && strcmp(statement->word, word) != 0)
		statement++;
	return statement;
}

static void complain(const struct reader *reader, const struct rdmadp_host *host, const char *path,
		     unsigned int line)
{
	const struct mock_device *device = reader->device;
	const char *expected = device ? reader->statement->usage : "device ID before this line";
	char message[512];

	if (device && device->n_lines > MOCK_MAX_LINES)
		expected = "at most 100 lines for a device";
	snprintf(message, sizeof(message), "'%s' line %u: expected '%s'; device '%s' is left out",
		 path, line, expected, device ? device->abi.id : "");
	if (host)
		host->log(host, RDMADP_LOG_WARNING, message);
}

static int read_lines(struct mock_file *file, const struct rdmadp_host *host, const char *path)
{
	struct reader reader = {.file = file};
	char *rest = file->text;
	unsigned int number = 0;

	for (char *line = strsep(&rest, "\n"); line; line = strsep(&rest, "\n")) {
		char *word[MAX_WORDS + 1] = {0};
		int n = split_line(line, word);

		number++;
		if (n == 0)
			continue;
		reader.statement = find_statement(word[0]);
		if (reader.statement->parse == parse_device && !start_device(&reader))
			return -ENOMEM;
		if (read_words(&reader, word, n))
			continue;
		complain(&reader, host, path, number);
		if (reader.device)
			reader.device->is_bad = true;
	}
	return 0;
}

/* --- the file --- */

static int read_text(const char *path, struct mock_file *file)
{
	FILE *stream = fopen(path, "re");
	size_t size = 0;
	int error = 0;

	if (!stream)
		return errno == ENOENT || errno == ENOTDIR ? 0 : -errno;
	if (fstat(fileno(stream), &file->status) < 0 ||
	    getdelim(&file->text, &size, '\0', stream) < 0) {
		error = ferror(stream) ? -errno : 0;
		free(file->text);
		file->text = NULL;
	}
	fclose(stream);
	return error;
}

int mock_file_read(const char *path, const struct rdmadp_host *host, struct mock_file **ret_file)
{
	struct mock_file *file = calloc(1, sizeof(*file));
	int error = file ? read_text(path, file) : -ENOMEM;

	if (error == 0)
		error = read_lines(file, host, path);
	if (error == 0)
		*ret_file = file;
	else if (file)
		mock_file_free(file);
	return error;
}

void mock_file_free(struct mock_file *file)
{
	while (file->devices) {
		struct mock_device *device = file->devices;

		file->devices = device->next;
		free(device);
	}
	free(file->text);
	free(file);
}

const struct mock_device *mock_file_find(const struct mock_file *file, const char *id)
{
	const struct mock_device *device = file->devices;

	while (device && (device->is_bad || strcmp(device->abi.id, id) != 0))
		device = device->next;
	return device;
}
