#!/usr/bin/env bash
# Builds hpcctl and installs it on this machine, below /usr/local, with its systemd units:
#   sudo deploy/install.sh coordinator    on the master: makes the cluster and starts its coordinator
#   sudo deploy/install.sh worker         on a PC: its worker starts with 'hpc-worker join TOKEN'
#   sudo deploy/install.sh client         hpcctl alone
#   sudo deploy/install.sh train          on a PC: hpc-train and hpcctl, with a torch of its own (some
#                                         gigabytes) or that of the Python which HPC_PYTHON names
#   sudo deploy/install.sh remove         takes all of these away again, and says what is left
# Several roles may be named. Run again, it upgrades: ranks go on while their worker is restarted.
set -euo pipefail
cd "$(dirname "$0")/.."

usage() { sed -n '2,9s/^# \{0,1\}//p' "$0"; }
roles=" $* "
[ $# -gt 0 ] || { usage >&2; exit 2; }
for role in "$@"; do
  case "$role" in
    coordinator | worker | client | train) ;;
    remove)
      [ $# = 1 ] || { echo "install.sh: 'remove' takes everything away: name nothing else" >&2; exit 2; } ;;
    -h | --help) usage; exit 0 ;;
    *) echo "install.sh: unknown role '$role' (coordinator, worker, client, train, remove)" >&2; exit 2 ;;
  esac
done
if [ "$(id -u)" != 0 ]; then
  echo "install.sh: installing below /usr/local needs root: sudo deploy/install.sh $*" >&2
  exit 1
fi
has() { [[ $roles == *" $1 "* ]]; }

# What somebody may still want is kept, and the command that deletes it is printed.
remove() {
  local was_worker=false
  [ ! -e /usr/local/bin/hpc-worker ] || was_worker=true
  if [ -d /run/systemd/system ]; then
    systemctl disable --now hpc-worker hpc-coordinator 2>/dev/null || true
    systemctl stop hpc.slice 2>/dev/null || true  # ends ranks, which outlive their worker
  fi
  rm -f /etc/systemd/system/hpc-{coordinator,worker}.service
  rm -f /usr/local/bin/{hpcctl,hpc-coordinator,hpc-worker,hpc-supervisor,hpc-train}
  rm -rf /usr/local/share/hpcctl /usr/local/lib/hpcctl
  if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
  echo "removed. What is left, and deletes it:"
  local path
  for path in /var/lib/hpc /var/lib/hpc-worker /etc/default/hpc-coordinator /etc/default/hpc-worker; do
    if [ -e "$path" ]; then echo "  rm -rf $path"; fi
  done
  local account=false members
  if id -u hpc >/dev/null 2>&1; then
    account=true
    echo "  userdel --remove hpc"
  fi
  # The account's own group is removed with it, unless it has other members.
  members=$(getent group hpc) || members=none
  if [ "$members" != none ] && { ! $account || [ -n "${members##*:}" ]; }; then echo "  groupdel hpc"; fi
  if $was_worker; then
    echo "and on the master: hpcctl cert revoke NAME-OF-THIS-PC, and hpcctl node forget NAME-OF-THIS-PC"
  fi
}
if has remove; then remove; exit 0; fi

say() { echo "install.sh: $*" >&2; }

# Makes HPC_PYTHON absolute. Exits if hpc-train cannot be built with its torch, or if others could
# not start it.
check_python() {
  local asked=$HPC_PYTHON wanted found folder closed
  wanted=$(sed -n 's/^set(HPC_TORCH_VERSION \([0-9.]*\)).*/\1/p' cmake/torch.cmake)
  refuse() {
    say "HPC_PYTHON=$asked: $*. Name a Python that has torch $wanted, or leave HPC_PYTHON out: then one is made"
    exit 1
  }
  HPC_PYTHON=$(command -v "$asked") || refuse "there is no such program"
  HPC_PYTHON=$(realpath -s "$HPC_PYTHON")
  # torch is not imported, since that takes seconds.
  found=$("$HPC_PYTHON" -c 'import importlib.metadata as m, importlib.util as u
s = u.find_spec("torch")
print(m.version("torch"), s.submodule_search_locations[0]) if s else print("none")' 2>/dev/null) ||
    refuse "it is no Python that runs"
  [ -n "$found" ] || refuse "it is no Python"
  [ "$found" != none ] || refuse "it has no torch"
  folder=${found#* }
  [[ $found == "$wanted"[\ +]* ]] || refuse "its torch is ${found%% *}"
  while [ "$folder" != / ]; do
    closed=$(find -H "$folder" -maxdepth 0 ! -perm -o=x)
    [ -z "$closed" ] || refuse "its torch lies below $closed, which ranks cannot enter, as they are not root"
    folder=$(dirname "$folder")
  done
}
if has train && [ -n "${HPC_PYTHON:-}" ]; then check_python; fi

deploy/install-deps.sh build
programs=(hpcctl)
if has coordinator; then programs+=(hpc-coordinator); fi
if has worker; then programs+=(hpc-worker hpc-supervisor); fi
# The library is built only if it is asked for, since the Python of the last time may be gone.
export HPC_TRAIN=OFF
if has train; then
  programs+=(hpc-train)
  HPC_TRAIN=ON
  # Every account must be able to read it, since ranks are not root.
  umask 022
  venv=/usr/local/lib/hpcctl/venv
  [ -n "${HPC_PYTHON:-}" ] || [ -e $venv/hpcctl-packages ] ||
    say "fetching torch for $venv (some minutes: gigabytes)"
  HPC_TEST_PYTHON=${HPC_PYTHON:-$(HPC_VENV=$venv deploy/python-env.sh)/bin/python}
  export HPC_TEST_PYTHON
fi
say "building ${programs[*]} (some minutes at first; tail -f $PWD/build/release.log shows how far it is)"
bin=$(deploy/build.sh release "${programs[@]}")
say "installing below /usr/local"
for program in "${programs[@]}"; do
  install -D "$bin/$program" "/usr/local/bin/$program"
done
# A member of this group is an admin at the coordinator's socket, as root is.
getent group hpc >/dev/null || groupadd --system hpc
if has worker; then
  install -D -m 644 -t /usr/local/share/hpcctl/python "$bin"/../share/hpcctl/python/*.py
  # Ranks never run as root. Without an entry in [accounts] they run as this account.
  id -u hpc >/dev/null 2>&1 || useradd --system --create-home --gid hpc --shell /usr/sbin/nologin hpc
fi

units=()
if has coordinator; then units+=(hpc-coordinator); fi
if has worker; then units+=(hpc-worker); fi
for unit in "${units[@]}"; do
  install -D -m 644 "deploy/systemd/$unit.service" "/etc/systemd/system/$unit.service"
done
if has coordinator && [ ! -e /var/lib/hpc/coordinator/keys ]; then
  hpcctl cluster init
fi
if [ ${#units[@]} -gt 0 ] && [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  systemctl enable "${units[@]}"
  systemctl restart "${units[@]}"
elif [ ${#units[@]} -gt 0 ]; then
  echo "systemd does not run here: start ${units[*]} by hand"
fi
if has coordinator; then echo "let a PC in: sudo hpcctl token create, and on that PC sudo hpc-worker join TOKEN"; fi
if has worker && [ ! -e /var/lib/hpc-worker/identity ]; then
  echo "make this PC a member: sudo hpc-worker join TOKEN (the line that 'hpcctl token create' prints)"
fi
if has train; then echo "hpc-train is in /usr/local/bin; try: hpcctl check"; fi
