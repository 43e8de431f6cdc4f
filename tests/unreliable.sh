#!/usr/bin/env bash
# The list of tests that failed among others and passed alone, on this machine: one line each, with
# the time, the commit, the preset and the test. Says at the end how many there were in the last 30
# days.
#   tests/unreliable.sh                     only says so
#   tests/unreliable.sh PRESET TEST...      appends these first
set -euo pipefail
cd "$(dirname "$0")/.."

list=${XDG_STATE_HOME:-$HOME/.local/state}/hpcctl-tests/unreliable
mkdir -p "$(dirname "$list")"
touch "$list"
if [ $# -gt 1 ]; then
  preset=$1
  shift
  commit=$(git describe --always --dirty 2>/dev/null || echo unknown)
  printf "$(date -u +%FT%TZ) $commit $preset %s\n" "$@" >>"$list"
fi
since=$(date -u -d '30 days ago' +%FT%TZ)
lately=$(awk -v since="$since" '$1 >= since' "$list" | wc -l)
echo "UNRELIABLE in the last 30 days: $lately, of which none is allowed ($list)"
