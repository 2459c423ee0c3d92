/* SPDX-License-Identifier: Apache-2.0 */
/* A node as the system tests see it: a machine, a kubelet, the daemon. */
#pragma once

#include "support/process.h"

/* What resources with the mode "auto" follow, by default. */
#define NODE_LABEL "rdma.network.alibabacloud.com/exclusive"

struct node {
	char *root; /* sys and dev of the machine; kubelet, etc and state beside them */
	char *kubelet_dir;
	char *settings, *kubelet_settings; /* lines of the tests */
	gboolean has_nodes; /* the machine's device nodes could be made: they are checked */
	Process *kubelet, *daemon; /* NULL: not started, or ended */
};

/* 'machine' as for fixture_new; "" is a machine without anything. Settings are such that
 * nothing waits: polls every 100 ms, no delays. podresources is expected at
 * pod-resources/kubelet.sock; the directory is not there. */
struct node *node_new(const char *machine);
/* Kills what runs and removes everything. */
void node_free(struct node *node);

/* The resource file. */
void node_resources(const struct node *node, const char *json);
/* Lines that are added to the settings file. */
void node_settings(struct node *node, const char *lines);
/* Lines that are added to its group "kubelet". */
void node_kubelet_settings(struct node *node, const char *lines);
/* The text file of the mock bus. */
void node_mock(const struct node *node, const char *text);

/* The path of the kubelet's podresources socket, for its option --pod-resources; makes
 * the directory. The caller frees it. */
char *node_pod_resources(const struct node *node);

/* Both wait until the program says that it serves. 'options' may be NULL or
 * NULL-terminated. */
void node_start_kubelet(struct node *node, const char *const *options);
void node_start_daemon(struct node *node);
/* The daemon with other options than these; does not wait. */
Process *node_run_daemon(const struct node *node, const char *const *options);
/* The daemon as a shell starts it: 'script' ends with exec "$@". */
Process *node_run_daemon_in(const struct node *node, const char *script);

/* Both fail the test when what they wait for does not come. */
void node_kubelet_says(const struct node *node, const char *pattern);
void node_daemon_says(const struct node *node, const char *pattern);
/* A command line to the kubelet. */
#define node_command(node, ...) process_write((node)->kubelet, __VA_ARGS__)

/* A pod that wants so many devices: the kubelet's word if it has got them, else NULL. */
const char *node_allocate(const struct node *node, const char *resource, int n, const char *pod);
void node_free_pod(const struct node *node, const char *pod);
/* Waits until so many devices can be allocated. */
void node_await_allocatable(const struct node *node, const char *resource, int n);
/* The node's labels: exclusive mode is wanted, or not. Settings name the file "labels". */
void node_label(const struct node *node, gboolean exclusive);

/* Ends the daemon with SIGTERM: status 0, within two seconds. */
void node_stop_daemon(struct node *node);
/* Ends the kubelet with "quit" and checks its exit status: 0 = no bad verdict. */
void node_stop_kubelet(struct node *node, int expected);

gboolean node_has_file(const struct node *node, const char *path);
