#!/usr/bin/env bash
# Makes the virtual environment with the training frameworks that tests/cluster/scripts train with,
# unless it is there, and prints its folder. HPC_FRAMEWORKS_VENV chooses another place.
set -euo pipefail

venv=${HPC_FRAMEWORKS_VENV:-${XDG_CACHE_HOME:-$HOME/.cache}/hpcctl/venv-frameworks}
torch="torch==2.13.0 numpy setuptools wheel ninja"
frameworks="lightning==2.6.6 deepspeed==0.19.8 accelerate==1.15.0"
stamp=$venv/hpcctl-packages
want="$torch $frameworks"

if [ "$(cat "$stamp" 2>/dev/null)" != "$want" ]; then
  mkdir -p "$(dirname "$venv")"
  exec 9>"$venv.lock"
  flock 9
  if [ "$(cat "$stamp" 2>/dev/null)" != "$want" ]; then
    echo "making the Python environment $venv ($want)" >&2
    [ -x "$venv/bin/python" ] || /usr/bin/python3 -m venv "$venv" >&2
    pip=("$venv/bin/pip" install -q --disable-pip-version-check)
    # torch first, and by itself: the frameworks would be content with another version.
    # shellcheck disable=SC2086
    "${pip[@]}" $torch >&2
    # Without the second variable DeepSpeed compiles its shared-memory operator in its first run,
    # which then seems to hang for a minute and more; one run after another, on every PC.
    # shellcheck disable=SC2086
    DS_BUILD_OPS=0 DS_BUILD_SHM_COMM=1 "${pip[@]}" --no-build-isolation $frameworks >&2
    echo "$want" >"$stamp"
  fi
fi
echo "$venv"
