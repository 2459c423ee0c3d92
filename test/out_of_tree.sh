#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A vendor's way: installs the build, copies the example to a folder outside of the
# tree, renames it, builds it with what pkg-config says and nothing else, checks it with
# the installed program and serves a resource with it through the installed daemon and
# the kubelet simulator. Usage: out_of_tree.sh BUILD_DIR
set -eu
umask 022
build=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."

if [ ! -w "$build" ]; then
	echo "skipped: an installation writes its manifest to '$build', which is somebody else's"
	exit 77
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/rdmadp-vendor.XXXXXX")
daemon=
kubelet=

clean_up() {
	for pid in $daemon $kubelet; do
		kill "$pid" 2>/dev/null || :
		wait "$pid" 2>/dev/null || :
	done
	rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 1' INT TERM

fail() {
	echo "FAILED: $1"
	for log in "$work"/*.log; do
		[ -f "$log" ] && sed "s|^|  ${log##*/}: |" "$log"
	done
	exit 1
}

# see LOG PATTERN: waits for a line that matches.
see() {
	tries=0
	until grep -qE "$2" "$work/$1"; do
		tries=$((tries + 1))
		[ $tries -le 600 ] || fail "no '$2' in $1"
		sleep 0.05
	done
	echo "seen: $2"
}

# Below a DESTDIR, so that directories outside of the prefix (/etc) stay in it, too.
prefix=$work/stage/opt/rdmadp
DESTDIR=$work/stage cmake --install "$build" --prefix /opt/rdmadp >"$work/install.log" ||
	fail 'the installation'
pc=$(find "$prefix" -name rdmadp-backend.pc)
ask() {
	PKG_CONFIG_PATH=${pc%/*} pkg-config --define-variable=prefix="$prefix" "$1" rdmadp-backend
}

# The vendor's folder: the example under another name, and its Makefile's one command.
mkdir "$work/vendor"
cp backends/mock/*.[ch] "$work/vendor"
cd "$work/vendor"
sed -i 's/"mock"/"acme"/; s|/bus/mock|/bus/acme|' mock.c
# shellcheck disable=SC2046 # flags are words
${CC:-cc} -O2 -Wall -Wextra -Werror -shared -fPIC -fvisibility=hidden $(ask --cflags) \
	-o acme.so mock.c mock_file.c 2>"$work/compiler.log" || fail 'the compilation'
echo 'built: acme.so'

mkdir -p "$work/sys/bus/acme" "$work/kubelet"
cp "$OLDPWD/backends/mock/example-devices" "$work/sys/bus/acme/devices"
"$prefix/bin/rdmadp-backend-check" acme.so --sysfs "$work/sys" >"$work/check.log" 2>&1 ||
	fail 'rdmadp-backend-check'
tail -n 1 "$work/check.log"

cp acme.so "$(ask --variable=backenddir)"
cat >"$work/rdmadp.conf" <<END
backend_dir = "$(ask --variable=backenddir)";
sysfs_root = "$work/sys";
dev_root = "$work/dev";
state_dir = "$work/state";
status_socket = "";
kubelet = { device_plugins_dir = "$work/kubelet"; };
END
cat >"$work/config.json" <<'END'
{"configList": [{"resourceName": "acme", "rdmaHcaMax": 4,
                 "selectors": {"buses": ["acme"], "vendors": ["15b3"]}}]}
END
mkfifo "$work/commands"
"$prefix/bin/rdmadp-kubelet" --text --dir "$work/kubelet" <"$work/commands" \
	>"$work/kubelet.log" 2>&1 &
kubelet=$!
exec 3>"$work/commands"
"$prefix/sbin/rdmadp" --config "$work/rdmadp.conf" --resources "$work/config.json" \
	2>"$work/daemon.log" &
daemon=$!
see kubelet.log 'rdma/acme: 4 of 4'
echo 'allocate rdma/acme 1 default/pod' >&3
see kubelet.log 'allocated.*uverbs3'
kill "$daemon"
wait "$daemon" || fail "the daemon's end"
daemon=
echo 'a backend from outside of the tree serves a resource'
