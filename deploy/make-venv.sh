# Sourced by the scripts that need Python packages.

# make_venv FOLDER PACKAGES INSTALL   Makes the virtual environment FOLDER, unless it was made with
# the same PACKAGES, and prints FOLDER. INSTALL is a function that installs them; its arguments are
# the command to do it with.
make_venv() {
  local venv=$1 packages=$2 install=$3 stamp=$1/hpcctl-packages
  if [ "$(cat "$stamp" 2>/dev/null)" != "$packages" ]; then
    mkdir -p "$(dirname "$venv")"
    # Two starts at once (a test run beside a quickstart) must not build it at the same time.
    exec 9>"$venv.lock"
    flock 9
    if [ "$(cat "$stamp" 2>/dev/null)" != "$packages" ]; then
      echo "making the Python environment $venv ($packages)" >&2
      [ -x "$venv/bin/python" ] || /usr/bin/python3 -m venv "$venv" >&2
      "$install" "$venv/bin/pip" install -q --disable-pip-version-check >&2
      echo "$packages" >"$stamp"
    fi
  fi
  echo "$venv"
}
