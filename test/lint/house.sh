#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# House rules that a script can see: licence lines, lengths, leftovers, host paths, and
# documents that name what is not there.
# Prints what breaks one; exit status 1 if there is anything.
set -u
cd "$(dirname "$0")/../.." || exit 2
bad=0

say() {
	if [ -n "$2" ]; then
		printf '%s:\n%s\n' "$1" "$2"
		bad=1
	fi
}

files=$(git ls-files -co --exclude-standard)
code=$(printf '%s\n' "$files" | grep -E '\.(c|h)$')
text=$(printf '%s\n' "$files" | grep -E '\.(c|h|sh|cmake|proto|map|in)$|CMakeLists.txt$|/run$')

say 'no SPDX line' "$(printf '%s\n' "$text" | while read -r file; do
	head -n 3 "$file" | grep -q 'SPDX-License-Identifier: Apache-2.0' || echo "$file"
done)"
say 'over 500 lines' "$(printf '%s\n' "$code" | while read -r file; do
	lines=$(wc -l <"$file")
	[ "$lines" -le 500 ] || echo "$lines $file"
done)"
say 'public header over 250 lines' "$(awk 'END { if (NR > 250) print NR }' core/include/rdmadp/backend.h)"
say 'function over 60 lines' "$(printf '%s\n' "$code" |
	ctags -L - -x --c-kinds=f --_xformat='%{end} %n %F %N' 2>/dev/null |
	awk '$1 - $2 > 60 { print $1 - $2, $3 ":" $2, $4 }')"
say 'left to do' "$(printf '%s\n' "$text" | grep -v '^test/lint/' |
	xargs grep -nE '\b(TODO|FIXME|XXX|HACK)\b')"
say 'trailing white space' "$(printf '%s\n' "$text" | xargs grep -nE '[[:space:]]+$' | head)"
say 'top level holds something new' "$(printf '%s\n' "$files" | cut -d/ -f1 | sort -u |
	grep -vxE '\..*|CMakeLists.txt|CMakePresets.json|LICENSE|README.md|(CHANGELOG|CONTRIBUTING|SECURITY).md|core|backends|proto|etc|test|packaging')"
say 'a path of somebody'\''s machine' "$(printf '%s\n' "$files" |
	xargs grep -nIE '/(home|work|root)/[a-z]' -- 2>/dev/null | grep -v '^test/lint/' | head)"
say 'test/README.md names a test that is not there' "$(
	grep -oE '\b(unit|system|kubelet|backend_check)/test_[a-z0-9_]+' test/README.md | sort -u |
		while read -r name; do
			[ -f "test/$name.c" ] || echo "$name"
		done
	grep -oE '\b[a-z0-9]+(_[a-z0-9]+){2,}\b' test/README.md | grep -v '^test_' | sort -u |
		while read -r name; do
			grep -qwF "$name" test/*/test_*.c || echo "$name"
		done
)"
say 'a README names a file that is not there' "$(printf '%s\n' "$files" | grep -E 'README\.md$' |
	while read -r readme; do
		grep -oE "\`[a-z0-9_][a-z0-9_/]*\.([ch]|sh|json|conf)\`" "$readme" | tr -d "\`" | sort -u |
			while read -r name; do
				printf '%s\n' "$files" | grep -qE "(^|/)$name\$" || echo "$readme: $name"
			done
	done)"
exit $bad
