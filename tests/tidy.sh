#!/usr/bin/env bash
# Runs clang-tidy over the C++ sources that differ from a commit, by the checks in .clang-tidy. It
# prints what they find, and ends with 1 if they find anything.
#   tests/tidy.sh COMMIT          sources that have changed since then, and are committed or not
#   tests/tidy.sh COMMIT FILE...  only these of them
# A source takes some ten seconds, so this is run by hand before a change lands.
set -euo pipefail
cd "$(dirname "$0")/.."

[ $# -gt 0 ] || { sed -n '2,6s/^# \?//p' "$0" >&2; exit 2; }
base=$(git rev-parse --verify --quiet "$1^{commit}") || {
  echo "tidy.sh: '$1' is no commit of this repository; git log shows them" >&2
  exit 2
}
shift
deploy/install-deps.sh test
tidy=$(command -v clang-tidy-14 || command -v clang-tidy-19)
mapfile -t files < <(git diff --name-only --diff-filter=d "$base" -- "${@:-*.cc}" | grep '\.cc$' || true)
if [ ${#files[@]} -eq 0 ]; then
  echo "tidy.sh: no source differs from $base"
  exit
fi

# Each source alone, as it is written: what the analysis sees must not depend on its neighbours.
options=()
if [ -n "${HPC_TEST_PYTHON:-}" ]; then
  options+=(-DHPC_TRAIN=ON "-DHPC_PYTHON=$HPC_TEST_PYTHON")
fi
mkdir -p build
cmake --preset clang-alone "${options[@]}" >build/tidy.log 2>&1 || { cat build/tidy.log >&2; exit 1; }
# Sources of messages must be there before what includes them is read.
ninja -C build/clang-alone -t targets all | sed -n 's/^\(.*\.pb\.h\): .*/\1/p' | sort -u |
  xargs ninja -C build/clang-alone >>build/tidy.log 2>&1
mapfile -t known < <(python3 - "${files[@]}" <<'PYTHON'
import json, os, sys
known = {os.path.relpath(entry["file"]) for entry in json.load(open("build/clang-alone/compile_commands.json"))}
print("\n".join(file for file in sys.argv[1:] if file in known))
PYTHON
)
echo "tidy.sh: ${#known[@]} sources"
printf '%s\n' "${known[@]}" |
  xargs -P "$(nproc)" -n 4 "$tidy" -p build/clang-alone --quiet --warnings-as-errors='*' 2>/dev/null
