#!/usr/bin/env bash
# Makes the virtual environment with HyperQueue, unless it exists, and prints its folder.
set -euo pipefail
source "$(dirname "$0")/../deploy/make-venv.sh"

packages="hyperqueue==0.27.0"
install() { "$@" "$packages"; }
make_venv "${XDG_CACHE_HOME:-$HOME/.cache}/hpcctl/venv-hyperqueue" "$packages" install
