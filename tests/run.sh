#!/usr/bin/env bash
# Installs what is missing, builds, and runs every test.
#   tests/run.sh                 the release build, all tests
#   tests/run.sh PRESET [ctest arguments]
# HPC_TRAIN=ON in the environment adds the native training library (train/) and its tests, label
# `train`.
set -euo pipefail
cd "$(dirname "$0")/.."

preset=${1:-release}
shift || true

deploy/install-deps.sh test
venv=$(deploy/python-env.sh)
export HPC_TEST_PYTHON=$venv/bin/python
if [ "$preset" = release ]; then
  frameworks=$(tests/cluster/frameworks_venv.sh)
  export HPC_TEST_FRAMEWORKS_PYTHON=$frameworks/bin/python
fi
deploy/build.sh "$preset" >/dev/null
exec ctest --preset "$preset" -j "$(nproc)" "$@"
