/* SPDX-License-Identifier: Apache-2.0 */
/* Errors in the words of a kubelet, which is written in Go. */
#include <string.h>

#include "kubelet/sim_private.h"

const char *sim_code_name(enum rpc_status status)
{
	static const char *const names[] = {"OK",
					    "Canceled",
					    "Unknown",
					    "InvalidArgument",
					    "DeadlineExceeded",
					    "NotFound",
					    "AlreadyExists",
					    "PermissionDenied",
					    "ResourceExhausted",
					    "FailedPrecondition",
					    "Aborted",
					    "OutOfRange",
					    "Unimplemented",
					    "Internal",
					    "Unavailable",
					    "DataLoss",
					    "Unauthenticated"};
	return (gsize)status < G_N_ELEMENTS(names) ? names[status] : "Unknown";
}

char *sim_error_message(enum rpc_status status, const char *message)
{
	const char *sizes = strstr(message, "larger than max (");
	if (status == RPC_RESOURCE_EXHAUSTED && sizes)
		return g_strdup_printf("grpc: received message %s", sizes);
	if (status == RPC_DEADLINE_EXCEEDED)
		return g_strdup("context deadline exceeded");
	return g_strdup(message);
}

char *sim_error_text(enum rpc_status status, const char *message)
{
	g_autofree char *text = sim_error_message(status, message);
	return g_strdup_printf("rpc error: code = %s desc = %s", sim_code_name(status), text);
}
