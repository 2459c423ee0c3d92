#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Gets Debian's kernel without installing it: DIR/vmlinux, uncompressed because emulated
# unpacking takes longer than the boot, and DIR/modules. Does nothing where they are.
# Usage: kernel.sh DIR. Status 77: it cannot be had here.
set -eu
dir=$1

cannot() {
	echo "skipped: $1"
	exit 77
}

mkdir -p "$dir"
exec 9>"$dir/lock"
flock 9
[ ! -f "$dir/complete" ] || exit 0
for tool in apt-get apt-cache dpkg-deb xz; do
	command -v $tool >/dev/null || cannot "there is no $tool to get Debian's kernel with"
done
package=$(apt-cache depends linux-image-amd64 2>/dev/null | awk '$1 == "Depends:" { print $2; exit }')
[ -n "$package" ] || cannot "apt knows no package linux-image-amd64"
work=$(mktemp -d "$dir/work.XXXXXX")
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
(cd "$work" && timeout 300 apt-get download -qq "$package" >apt.log 2>&1) ||
	cannot "apt-get cannot download $package: $(tail -n 1 "$work/apt.log")"

# Only what could be of use here: the package has 400 MB.
dpkg-deb --fsys-tarfile "$work"/*.deb | tar -x -C "$work" --wildcards './boot/vmlinuz-*' \
	'*/kernel/drivers/infiniband/*' '*/kernel/drivers/virtio/*' '*/kernel/drivers/net/*' \
	'*/kernel/net/*' '*/kernel/crypto/*' '*/kernel/lib/*' '*/kernel/fs/configfs/*'

# word OFFSET SIZE: an unsigned number of the boot header.
image=$(echo "$work"/boot/vmlinuz-*)
word() {
	od -An -tu"$2" -j "$1" -N "$2" "$image" | tr -d ' '
}
# Linux x86 boot protocol: the payload is an xz stream and the four bytes of its size.
start=$(($(word 584 4) + ($(word 497 1) + 1) * 512))
size=$(($(word 588 4) - 4))
tail -c +$((start + 1)) "$image" | head -c "$size" | xz -dc >"$work/vmlinux" ||
	cannot "the kernel of $package is not compressed as expected"
rm -rf "$dir/modules" "$dir/vmlinux"
mv "$work"/lib/modules/*/kernel "$dir/modules"
mv "$work/vmlinux" "$dir/vmlinux"
echo "$package" >"$dir/complete"
