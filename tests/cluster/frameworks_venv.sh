#!/usr/bin/env bash
# Makes the virtual environment with the frameworks that the scripts in tests/cluster/scripts train
# with, unless it is there already, and prints its folder. HPC_FRAMEWORKS_VENV chooses another
# place.
set -euo pipefail
source "$(dirname "$0")/../../deploy/make-venv.sh"

torch="torch==2.13.0 numpy setuptools wheel ninja"
frameworks="lightning==2.6.6 accelerate==1.15.0"
deepspeed="deepspeed==0.19.8"

# shellcheck disable=SC2086
install() {
  # torch comes first and by itself, since the frameworks would accept another version.
  "$@" $torch
  "$@" --no-build-isolation $frameworks
  # DeepSpeed is built here, with its shared-memory operator. Without it, it would compile that
  # operator in its first run on every PC, in the home of whoever runs it, which seems to hang for
  # more than a minute. pip's cache may have a wheel that was built without it, and so may this
  # environment.
  "$1" uninstall -q -y --disable-pip-version-check deepspeed
  DS_BUILD_OPS=0 DS_BUILD_SHM_COMM=1 "$@" --no-build-isolation --no-cache-dir $deepspeed
}
make_venv "${HPC_FRAMEWORKS_VENV:-${XDG_CACHE_HOME:-$HOME/.cache}/hpcctl/venv-frameworks}" \
  "$torch $frameworks, built here: $deepspeed" install
