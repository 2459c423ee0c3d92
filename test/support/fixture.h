/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A machine as text: builds <root>/sys and <root>/dev from lines such as
 *
 *	# comment                        include f01-roce.txt
 *	dir P                            link P -> TARGET        remove P
 *	file P = text                    (adds a newline; \n \t \\ \xHH are escapes)
 *	fifo P                           fill P SIZE             chr P MAJOR:MINOR
 *
 * (P is relative to root: 'sys/...' or 'dev/...'), and from lines that stand for
 * what the kernel shows of one thing, all in one step (words may be quoted):
 *
 *	pci 0000:3b:00.0 class=0x020000 vendor=0x15b3 device=0x101d driver=mlx5_core numa=0
 *	    [subsystem_vendor= subsystem_device= under=pci0000:3a/0000:3a:00.0]
 *	vf 0000:3b:00.1 0000:3b:00.0 0   virtual function 0 of that physical one; after 'pci'
 *	aux mlx5_core.sf.4 0000:3b:00.0 [sfnum=88 driver=mlx5_core.sf]
 *	ub 0000f vendor=0xcc08 device=0x8200 class=0x0102 type=0x1 guid=... [driver=hisdk5 KEY=...]
 *	device NAME sys/devices/scif_dma_0     one that is on no bus
 *	net DEVICE eth0 [type=1 up=1 carrier=1 port_name=p0 switch_id=aabb address= dev_port=]
 *	bond bond0 eth0 eth1
 *	ib DEVICE mlx5_0 [node_type="1: CA" guid= fw=28.36.1010 ports=1 and, for port 1, as in 'port']
 *	port mlx5_0 2 [state="4: ACTIVE" phys="5: LinkUp" ll=InfiniBand rate= gid=none|... ndev= cap_mask=]
 *	uverbs DEVICE 0 mlx5_0 [dev=231:192 abi=1]
 *	umad DEVICE 0 mlx5_0 1 [dev=]    issm DEVICE 0 mlx5_0 1 [dev=]
 *	rdma_cm [10:121]                 netns Y
 *
 * DEVICE is the name of a bus device made before, or 'virtual'. driver=- is none.
 */
#pragma once

#include <glib.h>

/* 'machine' is the text (it has a newline) or the name of a file. The root may
 * already hold a machine: then the lines change it. */
gboolean fixture_build(const char *machine, const char *root, GError **error);

/* A fresh temporary directory with that machine; ends the test if it cannot. */
char *fixture_new(const char *machine);
/* Removes the tree below and with root, following nothing. NULL is a no-op. */
void fixture_remove(const char *root);

/* For tests that change one thing; they end the test if they cannot. */
void fixture_write(const char *root, const char *path, const char *text);
void fixture_delete(const char *root, const char *path); /* a file or a whole tree */
void fixture_apply(const char *root, const char *lines);

/* TRUE if this process can make character devices here (else 'chr' made plain files). */
gboolean fixture_can_mknod(void);
