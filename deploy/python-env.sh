#!/usr/bin/env bash
# Makes the virtual environment in which the examples and tests train, unless it is there already,
# and prints its folder. HPC_VENV chooses another place.
set -euo pipefail
source "$(dirname "$0")/make-venv.sh"

packages="torch==2.13.0 numpy safetensors scikit-learn nvidia-ml-py"
# shellcheck disable=SC2086
install() { "$@" $packages; }
make_venv "${HPC_VENV:-${XDG_CACHE_HOME:-$HOME/.cache}/hpcctl/venv}" "$packages" install
