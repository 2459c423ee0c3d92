#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# linkage.sh PROGRAM: what the static link of gRPC promises. The program loads no
# shared library of gRPC, Abseil, protobuf or C++, and shows backends no symbol of
# theirs that could get in the way of their own.
set -eu
program=$1
if readelf -d "$program" | grep -E 'NEEDED.*lib(grpc|gpr|absl|upb|address_sorting|cares|re2|stdc\+\+)'; then
	echo "$program loads what it should carry inside"
	exit 1
fi
if readelf -W --dyn-syms "$program" | awk '$7 != "UND" && $8 ~ /(grpc|gpr_|absl|upb_|ares_|re2|^_ZS|^_ZNS|^_ZNKS)/' |
	grep .; then
	echo "$program exports symbols of its libraries"
	exit 1
fi
