#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Arrows go one way, and each foreign API has one file (core/README.md has the map).
# Prints every line that breaks a rule; exit status 1 if there is one.
set -u
cd "$(dirname "$0")/../.." || exit 2
bad=0

# forbid WHAT PATTERN FILES...: no file may have a line that matches.
forbid() {
	what=$1
	pattern=$2
	shift 2
	if found=$(grep -nE -e "$pattern" "$@" /dev/null); then
		printf '%s:\n%s\n' "$what" "$found"
		bad=1
	fi
}

# only WHAT PATTERN ALLOWED: of the core's files, only those whose path matches
# ALLOWED (extended regular expression) may have a line that matches PATTERN.
only() {
	what=$1
	pattern=$2
	allowed=$3
	found=$(grep -rnE --include='*.[ch]' -e "$pattern" core | grep -vE "^($allowed):" || :)
	if [ -n "$found" ]; then
		printf '%s:\n%s\n' "$what" "$found"
		bad=1
	fi
}

forbid 'model is pure: it uses model and the public contract only' \
	'#include "(edge|kubelet|daemon)/' core/model/*.[ch]
forbid 'model is pure: no I/O' \
	'#include <(unistd|fcntl|dirent|dlfcn|pthread|poll|sys/[a-z]+|glib-unix|gio/.*|grpc/.*)\.h>' \
	core/model/*.[ch]
forbid 'edge uses model and edge only' '#include "(kubelet|daemon)/' core/edge/*.[ch]
forbid 'the kubelet side does not use the daemon' '#include "daemon/' core/kubelet/*.[ch]
forbid 'the core does not know the backends' '#include ["<](backends|common|pci|ub|soft|mock)/' \
	core/*/*.[ch]
forbid 'a backend includes from the core only rdmadp/backend.h' \
	'#include "?<?(model|edge|kubelet|daemon)/|glib' backends/*/*.[ch]
for folder in common pci ub soft mock; do
	others=$(printf '%s\n' common pci ub soft mock | grep -vxE "common|$folder" | paste -sd '|')
	forbid "backends/$folder uses its own folder and common only" \
		"#include \"($others)/" "backends/$folder"/*.[ch]
done

only 'dlopen has one file' '#include <dlfcn.h>|\bdl(open|sym|addr|info)\(' 'core/edge/module\.c'
only 'libconfig has one file' '#include <libconfig' 'core/edge/settings[a-z_]*\.c'
only 'jansson has one file' '#include <jansson' 'core/edge/json\.c'
only 'gRPC has one file' '#include <grpc' 'core/edge/rpc[a-z_]*\.[ch]'
only 'netlink has one file' '#include <(libmnl|linux/(rt)?netlink|rdma/rdma_netlink)' \
	'core/edge/(netlink|events|netns)\.c'
only 'inotify has one file' '#include <sys/inotify' 'core/edge/file_watch\.c|core/kubelet/watch\.c'
only 'protobuf has one file' '#include [<"].*(pb-c|protobuf-c)' 'core/kubelet/(messages[a-z_]*|decode)\.[ch]'
only 'a vtable is called in one file' \
	'\bvtable->(discover|health|match|init|fini|event_fd|event_ack)\(' 'core/edge/backend_instance\.c'
exit $bad
