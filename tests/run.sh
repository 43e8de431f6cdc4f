#!/usr/bin/env bash
# Installs what is missing, builds, and runs every test. What fails is run once more when all else is
# done, without neighbours; what passes only then is named at the end, and in the list that
# tests/unreliable.sh keeps.
#   tests/run.sh                 the release build, all tests but those labelled nightly
#   tests/run.sh PRESET [ctest arguments]
# HPC_TRAIN=ON in the environment adds the native training library (train/) and its tests, label
# `train`. Warnings are errors, unless HPC_WERROR=OFF says otherwise.
set -euo pipefail
cd "$(dirname "$0")/.."

preset=${1:-release}
shift || true
[ $# -gt 0 ] || set -- -LE nightly

deploy/install-deps.sh test
venv=$(deploy/python-env.sh)
export HPC_TEST_PYTHON=$venv/bin/python
export HPC_WERROR=${HPC_WERROR:-ON}
if [ "$preset" = release ]; then  # beside the build: it mostly waits for a mirror
  tests/cluster/frameworks_venv.sh >/dev/null &
fi
deploy/build.sh "$preset" >/dev/null
if [ "$preset" = release ]; then
  frameworks=$(tests/cluster/frameworks_venv.sh)
  export HPC_TEST_FRAMEWORKS_PYTHON=$frameworks/bin/python
fi
# One more than there are cores, because tests with real daemons mostly wait.
if ctest --preset "$preset" -j "$(($(nproc) + 1))" "$@"; then
  tests/unreliable.sh
  exit
fi
failed=build/$preset/Testing/Temporary/LastTestsFailed.log
[ -s "$failed" ] || exit 1
names=$(cut -d: -f2 "$failed")
echo "run.sh: once more, one at a time: ${names//$'\n'/ }"
status=0
twice=
ctest --preset "$preset" --rerun-failed || { status=$? && twice=$(cut -d: -f2 "$failed"); }
mapfile -t alone < <(grep -vxF "$twice" <<<"$names")
if [ ${#alone[@]} -gt 0 ]; then
  echo "run.sh: UNRELIABLE, failed among others and passed alone: ${alone[*]}"
fi
tests/unreliable.sh "$preset" "${alone[@]}"
exit "$status"
