#!/usr/bin/env bash
# Configures and builds one preset (default: release) and prints the folder of its programs.
#   build.sh [PRESET [TARGET ...]]
# HPC_TRAIN=ON (or OFF) in the environment decides whether the native training library is built, with
# the torch of HPC_TEST_PYTHON; without it, it stays as it was. HPC_WERROR=ON (or OFF) decides in the
# same way whether a warning of the compiler ends the build.
set -euo pipefail
cd "$(dirname "$0")/.."

preset=${1:-release}
shift || true
log=build/$preset.log
mkdir -p build
options=()
if [ -n "${HPC_TRAIN:-}" ]; then
  options+=("-DHPC_TRAIN=$HPC_TRAIN" "-DHPC_PYTHON=${HPC_TEST_PYTHON:-$(command -v python3)}")
fi
if [ -n "${HPC_WERROR:-}" ]; then
  options+=("-DHPC_WERROR=$HPC_WERROR")
fi
if ! { cmake --preset "$preset" "${options[@]}" && cmake --build "build/$preset" ${*:+--target "$@"}; } >"$log" 2>&1; then
  tail -n 60 "$log" >&2
  echo "build.sh: preset $preset did not build; the whole output is in $log" >&2
  exit 1
fi
echo "$PWD/build/$preset/bin"
