#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Boots Debian's kernel in QEMU, without KVM, and runs vm_guest there. Status 77 where
# QEMU or the kernel cannot be had. Usage: run.sh BUILD_DIR CACHE_DIR
set -eu
build=$1
cache=$2
here=$(cd "$(dirname "$0")" && pwd)

for tool in qemu-system-x86_64 busybox ip rdma; do
	if ! command -v $tool >/dev/null; then
		echo "skipped: there is no $tool"
		exit 77
	fi
done
if [ "$(uname -m)" != x86_64 ]; then
	echo "skipped: the virtual machine is an x86-64 one, this is $(uname -m)"
	exit 77
fi
"$here/kernel.sh" "$cache" || exit

work=$(mktemp -d "${TMPDIR:-/tmp}/rdmadp-vm.XXXXXX")
trap 'rm -rf "$work"' EXIT
"$here/initramfs.sh" "$cache" "$build" "$build/bin/vm_guest" "$build/bin/rdmadp" \
	"$build/bin/rdmadp-kubelet" >"$work/initramfs"

# Two adapters on one hub, so that both have a link; nothing else of the world.
status=0
timeout -k 5 "${RDMADP_VM_TIMEOUT:-480}" qemu-system-x86_64 -M pc -accel tcg -cpu max -smp 2 -m 1G \
	-kernel "$cache/vmlinux" -initrd "$work/initramfs" \
	-append "console=ttyS0 quiet panic=-1 rdmadp_guest=$build/bin/vm_guest" \
	-nodefaults -display none -no-reboot -serial file:"$work/console" \
	-device virtio-net-pci,netdev=a,mac=52:54:00:00:00:01 -netdev hubport,id=a,hubid=0 \
	-device e1000,netdev=b,mac=52:54:00:00:00:02 -netdev hubport,id=b,hubid=0 \
	</dev/null || status=$?
tr -d '\r' <"$work/console"
[ "$status" = 0 ] || echo "FAILED: QEMU ended with status $status"
grep -q '^guest: passed' "$work/console"
