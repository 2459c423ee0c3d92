#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Writes the guest's root file system, a cpio archive, to standard output: busybox, ip and
# rdma, what was built (at the same paths as here), the libraries of all of them, the
# modules, and 'init'. Usage: initramfs.sh KERNEL_DIR BUILD_DIR PROGRAM...
set -eu
kernel=$1
build=$2
shift 2
here=$(cd "$(dirname "$0")" && pwd)
root=$(mktemp -d "${TMPDIR:-/tmp}/rdmadp-initramfs.XXXXXX")
trap 'rm -rf "$root"' EXIT

# copy FILE...: to the same path, with the libraries it needs.
copy() {
	for file in "$@"; do
		[ ! -e "$root$file" ] || continue
		mkdir -p "$root$(dirname "$file")"
		cp -L "$file" "$root$file"
		for library in $(ldd "$file" 2>/dev/null | grep -o '/[^ ]*'); do
			copy "$library"
		done
	done
}

# module NAME: after those it needs; their order is in /modules/order.
module() {
	[ ! -e "$root/modules/$1.ko" ] || return 0
	file=$(find "$kernel/modules" -name "$1.ko" -o -name "$(echo "$1" | tr _ -).ko")
	cp "$file" "$root/modules/$1.ko"
	for needed in $(tr '\0' '\n' <"$file" | sed -n 's/^depends=//p' | tr ,- ' _'); do
		module "$needed"
	done
	echo "$1" >>"$root/modules/order"
}

mkdir -p "$root/bin" "$root/modules" "$root/proc" "$root/sys" "$root/dev" "$root/tmp"
cp "$here/init" "$root/init"
cp /bin/busybox "$root/bin/busybox"
ln -s busybox "$root/bin/sh"
copy /usr/bin/env "$(command -v ip)" "$(command -v rdma)" "$@" "$build"/lib/rdmadp/backends/*.so
for name in virtio_pci virtio_net e1000 veth crc32_generic ib_uverbs ib_umad rdma_ucm rdma_rxe; do
	module $name
done
(cd "$root" && find . | busybox cpio -o -H newc -R 0:0 2>/dev/null)
