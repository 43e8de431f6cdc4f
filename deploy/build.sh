#!/usr/bin/env bash
# Configures and builds one preset (default: release) and prints the folder of its programs.
#   build.sh [PRESET [TARGET ...]]
set -euo pipefail
cd "$(dirname "$0")/.."

preset=${1:-release}
shift || true
log=build/$preset.log
mkdir -p build
if ! { cmake --preset "$preset" && cmake --build "build/$preset" ${*:+--target "$@"}; } >"$log" 2>&1; then
  tail -n 60 "$log" >&2
  echo "build.sh: preset $preset did not build; the whole output is in $log" >&2
  exit 1
fi
echo "$PWD/build/$preset/bin"
