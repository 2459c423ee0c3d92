/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/netlink.h"

#include <errno.h>
#include <glib-unix.h>
#include <libmnl/libmnl.h>
#include <linux/if_link.h>
#include <linux/magic.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <rdma/rdma_netlink.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "edge/small_file.h"

/* Creating a pod's namespace brings thousands of events within a moment. */
#define RECEIVE_BUFFER (1 << 20)
#define UEVENT_GROUP 1
#define ANSWER_WAIT_MS 200

struct source {
	struct mnl_socket *socket;
	guint watch;
};

struct netlink {
	netlink_hint_fn hint;
	gpointer data;
	struct source uevents;
	struct source links;
};

/* --- kernel uevents --- */

/* Its name as a constant, or NULL. */
static const char *subsystem_of_ours(const char *subsystem)
{
	static const char *const subsystems[] = {
		"auxiliary",
		"infiniband",
		"infiniband_mad",
		"infiniband_verbs",
		"misc",
		"module",
		"net",
		"pci",
		"ub",
		"platform",
	};

	for (gsize i = 0; i < G_N_ELEMENTS(subsystems); i++)
		if (strcmp(subsystem, subsystems[i]) == 0)
			return subsystems[i];
	return NULL;
}

/* "add@/devices/…", then KEY=VALUE strings, each ended by NUL. The '@' tells the
 * kernel's form from that of a user-space daemon. Virtual interfaces come and go with
 * every pod and are nobody's HCA, unless they carry a software RDMA device, which
 * has an event of its own. */
gboolean netlink_uevent_concerns_us(const char *message, gsize length, const char **ret_subsystem)
{
	gsize header = strnlen(message, length);
	const char *subsystem = NULL;

	if (header == length || memchr(message, '@', header) == NULL)
		return FALSE;
	for (gsize at = header + 1; at < length;) {
		gsize size = strnlen(message + at, length - at);

		if (at + size == length)
			return FALSE;
		if (g_str_has_prefix(message + at, "SUBSYSTEM="))
			subsystem = message + at + strlen("SUBSYSTEM=");
		at += size + 1;
	}
	subsystem = subsystem == NULL ? NULL : subsystem_of_ours(subsystem);
	if (subsystem == NULL)
		return FALSE;
	if (strcmp(subsystem, "net") == 0 && strstr(message, "@/devices/virtual/") != NULL)
		return FALSE;
	*ret_subsystem = subsystem;
	return TRUE;
}

/* Only the kernel is believed: its port is 0 and its messages carry root's id. */
static gboolean is_from_kernel(struct msghdr *header)
{
	const struct sockaddr_nl *sender = header->msg_name;
	struct cmsghdr *control = CMSG_FIRSTHDR(header);
	struct ucred credentials;

	if (sender->nl_pid != 0 || control == NULL || control->cmsg_type != SCM_CREDENTIALS)
		return FALSE;
	memcpy(&credentials, CMSG_DATA(control), sizeof(credentials));
	return credentials.uid == 0;
}

/* Of several events one is told: that of an RDMA device, if there is one. */
static const char *stronger(const char *a, const char *b)
{
	return a != NULL && g_str_has_prefix(a, "infiniband") ? a : b;
}

static gboolean netlink_on_uevent(gint fd, GIOCondition condition G_GNUC_UNUSED, gpointer data)
{
	Netlink *netlink = data;
	char message[8192];
	char control[CMSG_SPACE(sizeof(struct ucred))];
	const char *heard = NULL;

	for (;;) {
		const char *subsystem;
		struct sockaddr_nl sender;
		struct iovec part = {message, sizeof(message)};
		struct msghdr header = {.msg_name = &sender,
					.msg_namelen = sizeof(sender),
					.msg_iov = &part,
					.msg_iovlen = 1,
					.msg_control = control,
					.msg_controllen = sizeof(control)};
		ssize_t length = recvmsg(fd, &header, MSG_DONTWAIT);

		if (length < 0 && errno == ENOBUFS)
			netlink->hint(NETLINK_HINT_LOST, NULL, netlink->data);
		else if (length < 0)
			break;
		else if (is_from_kernel(&header) &&
			 netlink_uevent_concerns_us(message, (gsize)length, &subsystem))
			heard = stronger(heard, subsystem);
	}
	if (heard != NULL)
		netlink->hint(NETLINK_HINT_BUS, heard, netlink->data);
	return G_SOURCE_CONTINUE;
}

/* --- links --- */

static int link_attribute(const struct nlattr *attribute, void *data)
{
	const char **ret_name = data;

	if (mnl_attr_get_type(attribute) == IFLA_IFNAME &&
	    mnl_attr_validate(attribute, MNL_TYPE_NUL_STRING) == 0)
		*ret_name = mnl_attr_get_str(attribute);
	return MNL_CB_OK;
}

static int netlink_on_link_message(const struct nlmsghdr *message, void *data)
{
	Netlink *netlink = data;
	const char *name = NULL;

	if (message->nlmsg_type != RTM_NEWLINK && message->nlmsg_type != RTM_DELLINK)
		return MNL_CB_OK;
	mnl_attr_parse(message, sizeof(struct ifinfomsg), link_attribute, &name);
	if (name != NULL)
		netlink->hint(NETLINK_HINT_LINK, name, netlink->data);
	return MNL_CB_OK;
}

static gboolean netlink_on_links(gint fd, GIOCondition condition G_GNUC_UNUSED, gpointer data)
{
	Netlink *netlink = data;
	char *buffer = g_malloc(MNL_SOCKET_BUFFER_SIZE);

	for (;;) {
		ssize_t length = recv(fd, buffer, MNL_SOCKET_BUFFER_SIZE, MSG_DONTWAIT);

		if (length < 0 && errno == ENOBUFS)
			netlink->hint(NETLINK_HINT_LOST, NULL, netlink->data);
		else if (length <= 0)
			break;
		else
			mnl_cb_run(buffer, (gsize)length, 0, 0, netlink_on_link_message, netlink);
	}
	g_free(buffer);
	return G_SOURCE_CONTINUE;
}

/* --- both --- */

static void source_close(struct source *source)
{
	if (source->watch != 0)
		g_source_remove(source->watch);
	if (source->socket != NULL)
		mnl_socket_close(source->socket);
	*source = (struct source){0};
}

static gboolean source_open(struct source *source, int protocol, guint groups, GUnixFDSourceFunc on,
			    Netlink *netlink)
{
	int size = RECEIVE_BUFFER;
	int yes = 1;
	int fd;

	source->socket = mnl_socket_open2(protocol, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (source->socket == NULL || mnl_socket_bind(source->socket, groups, 0) < 0) {
		int trouble = errno;

		source_close(source);
		errno = trouble;
		return FALSE;
	}
	fd = mnl_socket_get_fd(source->socket);
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &yes, sizeof(yes));
	source->watch = g_unix_fd_add(fd, G_IO_IN, on, netlink);
	return TRUE;
}

Netlink *netlink_new(netlink_hint_fn hint, gpointer data, char **ret_trouble)
{
	Netlink *netlink = g_new0(Netlink, 1);
	char *trouble = NULL;

	netlink->hint = hint;
	netlink->data = data;
	if (!source_open(&netlink->uevents, NETLINK_KOBJECT_UEVENT, UEVENT_GROUP, netlink_on_uevent,
			 netlink))
		trouble = g_strdup_printf("no kernel uevents (%s): changes are seen by polling",
					  g_strerror(errno));
	if (!source_open(&netlink->links, NETLINK_ROUTE, RTMGRP_LINK, netlink_on_links, netlink) &&
	    trouble == NULL)
		trouble = g_strdup_printf("no link events (%s): changes are seen by polling",
					  g_strerror(errno));
	*ret_trouble = trouble;
	return netlink;
}

void netlink_free(Netlink *netlink)
{
	if (netlink == NULL)
		return;
	source_close(&netlink->uevents);
	source_close(&netlink->links);
	g_free(netlink);
}

/* --- RDMA namespace mode --- */

static int netns_attribute(const struct nlattr *attribute, void *data)
{
	int *ret_mode = data;

	if (mnl_attr_get_type(attribute) == RDMA_NLDEV_SYS_ATTR_NETNS_MODE &&
	    mnl_attr_validate(attribute, MNL_TYPE_U8) == 0)
		*ret_mode = mnl_attr_get_u8(attribute);
	return MNL_CB_OK;
}

static int netns_message(const struct nlmsghdr *message, void *data)
{
	return mnl_attr_parse(message, 0, netns_attribute, data);
}

static gboolean netns_ask(struct mnl_socket *socket, int *ret_mode)
{
	char buffer[4096];
	struct timeval wait = {.tv_usec = ANSWER_WAIT_MS * 1000L};
	struct nlmsghdr *message = mnl_nlmsg_put_header(buffer);
	ssize_t length;

	message->nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_SYS_GET);
	message->nlmsg_flags = NLM_F_REQUEST;
	message->nlmsg_seq = 1;
	setsockopt(mnl_socket_get_fd(socket), SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	if (mnl_socket_sendto(socket, message, message->nlmsg_len) < 0)
		return FALSE;
	length = mnl_socket_recvfrom(socket, buffer, sizeof(buffer));
	return length > 0 && mnl_cb_run(buffer, (gsize)length, 1, mnl_socket_get_portid(socket),
					netns_message, ret_mode) >= 0;
}

/* 1 shared, 0 exclusive, -1 the kernel does not say. */
static int netns_mode_from_kernel(void)
{
	struct mnl_socket *socket = mnl_socket_open2(NETLINK_RDMA, SOCK_CLOEXEC);
	int mode = -1;

	if (socket == NULL)
		return -1;
	if (mnl_socket_bind(socket, 0, MNL_SOCKET_AUTOPID) < 0 || !netns_ask(socket, &mode))
		mode = -1;
	mnl_socket_close(socket);
	return mode;
}

enum rdma_netns_mode netlink_rdma_netns_mode(const char *sysfs_root)
{
	g_autofree char *path =
		g_build_filename(sysfs_root, "module/ib_core/parameters/netns_mode", NULL);
	g_autofree char *text = NULL;
	struct statfs status;
	gsize length;

	if (statfs(sysfs_root, &status) == 0 && status.f_type == SYSFS_MAGIC) {
		int mode = netns_mode_from_kernel();

		if (mode >= 0)
			return mode == 0 ? RDMA_NETNS_EXCLUSIVE : RDMA_NETNS_SHARED;
	}
	text = small_file_read(path, SMALL_FILE_MIB, &length, NULL);
	if (text != NULL && (text[0] == 'N' || text[0] == '0'))
		return RDMA_NETNS_EXCLUSIVE;
	return RDMA_NETNS_SHARED;
}
