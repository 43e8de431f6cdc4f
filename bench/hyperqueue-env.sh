#!/usr/bin/env bash
# Makes the virtual environment that has HyperQueue, unless it is there, and prints its folder.
set -euo pipefail

venv=${XDG_CACHE_HOME:-$HOME/.cache}/hpcctl/venv-hyperqueue
want="hyperqueue==0.27.0"
stamp=$venv/hpcctl-packages

if [ "$(cat "$stamp" 2>/dev/null)" != "$want" ]; then
  mkdir -p "$(dirname "$venv")"
  exec 9>"$venv.lock"
  flock 9
  if [ "$(cat "$stamp" 2>/dev/null)" != "$want" ]; then
    echo "making the Python environment $venv ($want)" >&2
    [ -x "$venv/bin/python" ] || /usr/bin/python3 -m venv "$venv" >&2
    "$venv/bin/pip" install -q --disable-pip-version-check "$want" >&2
    echo "$want" >"$stamp"
  fi
fi
echo "$venv"
