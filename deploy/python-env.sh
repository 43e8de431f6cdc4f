#!/usr/bin/env bash
# Makes the virtual environment that the examples and tests train with, unless it is there, and
# prints its folder. HPC_VENV chooses another place.
set -euo pipefail

venv=${HPC_VENV:-${XDG_CACHE_HOME:-$HOME/.cache}/hpcctl/venv}
want="torch==2.13.0 numpy scikit-learn nvidia-ml-py"
stamp=$venv/hpcctl-packages

if [ "$(cat "$stamp" 2>/dev/null)" != "$want" ]; then
  mkdir -p "$(dirname "$venv")"
  # Two starts at once (a test run beside a quickstart) must not build it over each other.
  exec 9>"$venv.lock"
  flock 9
  if [ "$(cat "$stamp" 2>/dev/null)" != "$want" ]; then
    echo "making the Python environment $venv ($want)" >&2
    [ -x "$venv/bin/python" ] || /usr/bin/python3 -m venv "$venv" >&2
    # shellcheck disable=SC2086
    "$venv/bin/pip" install -q --disable-pip-version-check $want >&2
    echo "$want" >"$stamp"
  fi
fi
echo "$venv"
