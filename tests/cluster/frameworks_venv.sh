#!/usr/bin/env bash
# Makes the virtual environment with the training frameworks that tests/cluster/scripts train with,
# unless it is there, and prints its folder. HPC_FRAMEWORKS_VENV chooses another place.
set -euo pipefail
source "$(dirname "$0")/../../deploy/make-venv.sh"

torch="torch==2.13.0 numpy setuptools wheel ninja"
frameworks="lightning==2.6.6 accelerate==1.15.0"
deepspeed="deepspeed==0.19.8"

# shellcheck disable=SC2086
install() {
  # torch first, and by itself: the frameworks would be content with another version.
  "$@" $torch
  "$@" --no-build-isolation $frameworks
  # Built here and apart from pip's cache, which may have one that was built without these variables:
  # DeepSpeed compiles its shared-memory operator in its first run then, which seems to hang for a
  # minute and more; one run after another, on every PC, in the home of whoever runs it. One that is
  # here already may be such a one.
  "$1" uninstall -q -y --disable-pip-version-check deepspeed
  DS_BUILD_OPS=0 DS_BUILD_SHM_COMM=1 "$@" --no-build-isolation --no-cache-dir $deepspeed
}
make_venv "${HPC_FRAMEWORKS_VENV:-${XDG_CACHE_HOME:-$HOME/.cache}/hpcctl/venv-frameworks}" \
  "$torch $frameworks, built here: $deepspeed" install
