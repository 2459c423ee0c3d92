/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A device plugin that registers once and never again: "stubborn_plugin DIR". The
 * scenarios must not let it pass.
 */
#include <signal.h>

#include "kubelet/fake_plugin.h"

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	Rpc *rpc = rpc_new();
	FakePlugin *plugin = fake_plugin_new(rpc, argv[1], "rdma/stubborn", "stubborn.sock");
	fake_plugin_list(plugin, "a=Healthy b=Healthy");
	fake_plugin_serve(plugin);
	fake_plugin_register(plugin);
	for (;;)
		g_main_context_iteration(NULL, TRUE);
}
