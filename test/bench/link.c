/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/link.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define OTHER_END "cable"
#define USUAL_MTU 1500

struct link {
	int outside; /* the namespace of before */
	int control;
	struct ifreq interface, other_end;
};

static gboolean add_pair(const char *interface, char **ret_why)
{
	const char *const argv[] = {"ip",   "link", "add",  "name",    interface, "type",
				    "veth", "peer", "name", OTHER_END, NULL};
	g_autoptr(GError) error = NULL;
	int status = 0;

	if (g_spawn_sync(NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL,
			 &status, &error) &&
	    g_spawn_check_wait_status(status, &error))
		return TRUE;
	*ret_why = g_strdup_printf("ip link add: %s", error->message);
	return FALSE;
}

static void set_up(const Link *link, struct ifreq interface, gboolean on)
{
	interface.ifr_flags = on ? IFF_UP : 0;
	if (ioctl(link->control, SIOCSIFFLAGS, &interface) < 0)
		g_error("cannot set '%s': %s", interface.ifr_name, g_strerror(errno));
}

static gboolean enter(Link *link, const char *interface, char **ret_why)
{
	link->outside = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	if (link->outside < 0 || unshare(CLONE_NEWNET) < 0) {
		*ret_why = g_strdup_printf("no network namespace: %s", g_strerror(errno));
		return FALSE;
	}
	link->control = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	return add_pair(interface, ret_why);
}

Link *link_new(const char *interface, char **ret_why)
{
	Link *link = g_new0(Link, 1);

	link->outside = link->control = -1;
	g_strlcpy(link->interface.ifr_name, interface, IFNAMSIZ);
	g_strlcpy(link->other_end.ifr_name, OTHER_END, IFNAMSIZ);
	if (!enter(link, interface, ret_why)) {
		link_free(link);
		return NULL;
	}
	set_up(link, link->interface, TRUE);
	link_set_carrier(link, TRUE);
	return link;
}

void link_free(Link *link)
{
	if (link->outside >= 0) {
		(void)setns(link->outside, CLONE_NEWNET);
		close(link->outside);
	}
	if (link->control >= 0)
		close(link->control);
	g_free(link);
}

void link_set_carrier(const Link *link, gboolean on)
{
	set_up(link, link->other_end, on);
}

void link_nudge(const Link *link)
{
	struct ifreq interface = link->interface;

	for (int mtu = USUAL_MTU - 1; mtu <= USUAL_MTU; mtu++) {
		interface.ifr_mtu = mtu;
		if (ioctl(link->control, SIOCSIFMTU, &interface) < 0)
			g_error("cannot change '%s': %s", interface.ifr_name, g_strerror(errno));
	}
}
