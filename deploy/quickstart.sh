#!/usr/bin/env bash
# From a fresh Debian 12 machine to a training run on four nodes, all on this one machine:
#   deploy/quickstart.sh            install what is missing, build, train, show, stop
#   deploy/quickstart.sh --keep     leave the cluster up, and say how to talk to it
#   deploy/quickstart.sh --stop     stop a cluster that was kept
set -euo pipefail
cd "$(dirname "$0")/.."

dir=$PWD/build/quickstart
root=false
if [ "$(id -u)" = 0 ]; then
  # Ranks never run as root, but as the account hpc, which cannot look into root's home. Everything
  # that they use is put where that account can read it, for each clone of the repository apart.
  root=true
  umask 022
  dir=/var/lib/hpcctl-quickstart/$(pwd -P | cksum | cut -d ' ' -f 1)
  export HPC_VENV=${HPC_VENV:-/var/cache/hpcctl/venv}
fi
nodes=4
keep=false
case "${1:-}" in
  "") ;;
  --keep) keep=true ;;
  --stop) ;;
  -h | --help) sed -n '2,5s/^# \{0,1\}//p' "$0"; exit 0 ;;
  *) echo "quickstart.sh: unknown option '$1' (--keep, --stop)" >&2; exit 2 ;;
esac

# Only processes that run from our folder are signalled, since a pid may have been reused.
ours() { tr '\0' ' ' 2>/dev/null <"/proc/$1/cmdline" | grep -qF -- "$dir/"; }

running() {
  local file
  for file in "$dir"/*.pid; do
    [ -e "$file" ] && ours "$(cat "$file")" && return 0
  done
  return 1
}

stop_cluster() {
  local file pid
  for file in "$dir"/*.pid; do
    [ -e "$file" ] || continue
    pid=$(cat "$file")
    if ours "$pid"; then
      kill -TERM "$pid" 2>/dev/null || true
      for _ in $(seq 100); do
        ours "$pid" || break  # one that has ended and was not yet waited for has no arguments
        sleep 0.05
      done
    fi
    rm -f "$file"
  done
}

if [ "${1:-}" = --stop ]; then
  if running; then
    stop_cluster
    echo "stopped; what was recorded is in $dir"
  else
    stop_cluster
    echo "nothing to stop: no cluster of quickstart.sh runs"
  fi
  exit 0
fi
if running; then
  echo "quickstart.sh: a cluster is up already; deploy/quickstart.sh --stop stops it" >&2
  exit 1
fi

deploy/install-deps.sh build
[ -x build/release/bin/hpcctl ] ||
  echo "building hpcctl (some minutes; tail -f $PWD/build/release.log shows how far it is)" >&2
bin=$(deploy/build.sh release hpc-coordinator hpc-worker hpc-supervisor hpcctl)
venv=$(deploy/python-env.sh)

[ ! -e "$dir" ] || echo "deleting what an earlier quickstart has left in $dir" >&2
rm -rf "$dir"
mkdir -p "$dir"
if $root; then
  if ! id -u hpc >/dev/null 2>&1; then
    echo "making the account hpc, which ranks run as" >&2
    group=()
    ! getent group hpc >/dev/null || group=(--gid hpc)  # install.sh has made the group
    useradd --system --create-home "${group[@]}" --shell /usr/sbin/nologin hpc
  fi
  cp -r "$bin" "$bin/../share" examples "$dir"
  bin=$dir/bin
  cd "$dir"
fi
$keep || trap stop_cluster EXIT
trap 'stop_cluster; exit 130' INT TERM

# Starts a daemon out of reach of the terminal's Ctrl-C. That is meant for hpcctl, and a run that
# hpcctl cancels still needs the daemons. Waits until the daemon says that it is ready, and sets
# `ready` to what it said.
start() {
  local name=$1
  shift
  mkfifo "$dir/$name.ready"
  setsid "$@" --ready-fd 3 3<>"$dir/$name.ready" >"$dir/$name.log" 2>&1 </dev/null &
  echo $! >"$dir/$name.pid"
  ready=
  read -r -t 20 ready <>"$dir/$name.ready" || true
  rm -f "$dir/$name.ready"
  if [ -z "$ready" ]; then
    echo "quickstart.sh: $name did not start:" >&2
    tail -n 20 "$dir/$name.log" >&2
    exit 1
  fi
}

socket=$dir/hpc.sock
hpcctl=$bin/hpcctl
export HPC_COORDINATOR=unix:$socket
# A separate folder keeps this apart from a membership that its user may have elsewhere.
XDG_CONFIG_HOME=$dir/config "$hpcctl" cluster init --state-dir "$dir/coordinator" \
  >"$dir/init.log" 2>&1 || { cat "$dir/init.log" >&2; exit 1; }
start coordinator "$bin/hpc-coordinator" --state-dir "$dir/coordinator" \
  --listen 127.0.0.1:0 --socket "$socket"
listen=${ready#*listen=}
listen=${listen%% *}
token=$("$hpcctl" token create --uses $nodes 2>>"$dir/init.log")

# All these PCs are this machine. `hpcctl sleep` must not suspend it, so this command says so
# instead.
cat >"$dir/no-sleep" <<'END'
echo "this PC is a stand-in on the machine of all the others, which is not suspended" >&2
exit 1
END

# The ranks find `python` in the PATH of their worker.
export PATH=$venv/bin:$PATH
for i in $(seq $nodes); do
  "$bin/hpc-worker" join "$token" --name "pc$i" --state-dir "$dir/pc$i" >>"$dir/init.log"
  start "pc$i" "$bin/hpc-worker" --state-dir "$dir/pc$i" --address "127.0.0.1$i" --stop-ranks-on-exit \
    --power-command "sh '$dir/no-sleep'"
done

echo "\$ hpcctl nodes"
"$hpcctl" nodes
echo
echo "\$ hpcctl run -N $nodes -- python examples/ddp_digits.py"
code=0
"$hpcctl" run -N $nodes -- python examples/ddp_digits.py || code=$?
echo
echo "\$ hpcctl show 1"
"$hpcctl" show 1

if $keep; then
  cat <<END

The cluster is up. To talk to it:
  export HPC_COORDINATOR=unix:$socket
  export PATH=$bin:\$PATH
  hpcctl nodes
  hpc-worker status --state-dir $dir/pc1
Its state is in $dir; sqlite3 -readonly $dir/coordinator/hpc.db reads everything about every run.
To stop its coordinator alone, and to start that again on the same port:
  pid=\$(cat $dir/coordinator.pid); kill \$pid; tail --pid=\$pid -f /dev/null
  nohup $bin/hpc-coordinator --state-dir $dir/coordinator --listen $listen \\
    --socket $socket >>$dir/coordinator.log 2>&1 & echo \$! >$dir/coordinator.pid
To stop all of it: deploy/quickstart.sh --stop. The next quickstart begins anew and deletes that folder: to keep
what was recorded, copy it first.
END
  if $root; then
    cat <<END
Ranks run as the account hpc: it has to be able to read the programs and data that you give them,
keep those where it may enter, as in /srv, and not in root's home.
END
  fi
fi
exit $code
