#!/usr/bin/env bash
# Makes the virtual environment with the frameworks that the scripts in tests/cluster/scripts train
# with, unless it is there already, and prints its folder. HPC_FRAMEWORKS_VENV chooses another
# place.
set -euo pipefail
source "$(dirname "$0")/../../deploy/make-venv.sh"

torch="torch==2.13.0 numpy setuptools wheel ninja"
frameworks="lightning==2.6.6 deepspeed==0.19.8 accelerate==1.15.0"

# shellcheck disable=SC2086
install() {
  # torch comes first and by itself, since the frameworks would accept another version.
  "$@" $torch
  # Without the second variable, DeepSpeed compiles its shared-memory operator in its first run on
  # every PC. That run then seems to hang for more than a minute.
  DS_BUILD_OPS=0 DS_BUILD_SHM_COMM=1 "$@" --no-build-isolation $frameworks
}
make_venv "${HPC_FRAMEWORKS_VENV:-${XDG_CACHE_HOME:-$HOME/.cache}/hpcctl/venv-frameworks}" \
  "$torch $frameworks" install
