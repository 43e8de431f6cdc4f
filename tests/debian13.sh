#!/usr/bin/env bash
# Builds hpcctl as users do, but with the compiler and the libraries of Debian 13, in a root folder of
# its own; there it runs all unit tests and the quick tests of real clusters. Warnings are errors.
#   tests/debian13.sh [CTEST ARGUMENT ...]    other tests than those, as in: -R cluster_owner
#   tests/debian13.sh --product     builds only what users run, and runs only those of real clusters
#   tests/debian13.sh --fetch       makes the folder, if it is not there, and builds nothing
# It needs root and mmdebstrap, and says so where it has to be skipped. It fetches packages of Debian
# and nothing else. HPC_DEBIAN13 in the environment names the folder (default:
# /var/cache/hpcctl/debian13), which is kept: the next time only what has changed is built.
set -euo pipefail
cd "$(dirname "$0")/.."

skip() { echo "debian13.sh: skipped: $1"; exit 0; }
[ "$(id -u)" = 0 ] || skip "it needs root"
command -v mmdebstrap >/dev/null || skip "it needs mmdebstrap (apt-get install mmdebstrap)"
# What is mounted and started below is so for this script alone: however it ends, the kernel unmounts
# and kills all of it.
if [ -z "${HPC_DEBIAN13_INSIDE:-}" ]; then
  own=(unshare --mount --propagation private --pid --fork --kill-child --mount-proc)
  "${own[@]}" true 2>/dev/null || skip "it needs namespaces of mounts and processes, and may make none"
  HPC_DEBIAN13_INSIDE=yes exec "${own[@]}" "$0" "$@"
fi
trap 'exit 130' INT TERM  # which the first process of a namespace would not notice

root=$(realpath -m "${HPC_DEBIAN13:-/var/cache/hpcctl/debian13}")
mkdir -p "$(dirname "$root")" build
exec 9>"$root.lock"
flock -n 9 || { echo "debian13.sh: waiting for another that uses $root" >&2; flock 9; }

# A folder of that name is whole: it gets it when it is made.
if [ ! -e "$root" ]; then
  echo "debian13.sh: making $root" >&2
  rm -rf --one-file-system "$root.new"
  mmdebstrap --quiet --variant=minbase --customize-hook='copy-in deploy/install-deps.sh /root' \
    --customize-hook='chroot "$1" /root/install-deps.sh cluster' trixie "$root.new"
  mv "$root.new" "$root"
fi
[ "${1:-}" != --fetch ] || exit 0

# A supervisor makes mount namespaces, whose root has to be a mount.
mount --bind "$root" "$root"
mkdir -p "$root/src" "$root/build"
mount --bind . "$root/src"
mount -o remount,bind,ro "$root/src"
mount --bind "$root/build" "$root/src/build"
mount --rbind /proc "$root/proc"
mount --rbind /sys "$root/sys"
mount --rbind /dev "$root/dev"
mount -t tmpfs -o mode=755 tmpfs "$root/run"
find "$root/tmp" -xdev -mindepth 1 -delete
cp -L /etc/resolv.conf "$root/etc/resolv.conf"

inside() {
  chroot "$root" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
    LANG=C.UTF-8 PYTHONDONTWRITEBYTECODE=1 HPC_WERROR=ON "$@" 9>&-
}

# Runs tests, and once more alone those that failed: as tests/run.sh does. Sets `passed`.
passed=
run_tests() {
  local what=$1 begun=$SECONDS log=$root/build/tests.log
  local ctest=(inside ctest --test-dir /src/build/release --output-on-failure)
  shift
  if ! "${ctest[@]}" --no-tests=error -j "$(nproc)" "$@" | tee "$log"; then
    local failed=$root/build/release/Testing/Temporary/LastTestsFailed.log
    [ -s "$failed" ] || exit 1
    local names
    names=$(cut -d: -f2 "$failed" | paste -sd' ')
    echo "debian13.sh: once more, one at a time: $names"
    "${ctest[@]}" --rerun-failed
    echo "debian13.sh: UNRELIABLE, failed among others and passed alone: $names"
  fi
  passed+="${passed:+, }$(grep -o 'out of [0-9]*' "$log" | tail -n 1 | cut -d' ' -f3) $what"
  passed+=" in $((SECONDS - begun)) s"
}

inside dpkg --configure -a  # where an installation was cut off
inside /src/deploy/install-deps.sh cluster
begun=$SECONDS
targets=()
if [ "${1:-}" = --product ]; then
  shift
  targets=(hpc-coordinator hpc-worker hpc-supervisor hpcctl)
fi
inside /src/deploy/build.sh release "${targets[@]}" >/dev/null
built=$((SECONDS - begun))
if [ $# -gt 0 ]; then
  run_tests tests "$@"
else
  [ ${#targets[@]} -gt 0 ] || run_tests "unit tests" -L '^unit$'
  run_tests "programs of tests/cluster" -R '^cluster_(client|gang|trust)_test$'
fi
echo "debian13.sh: Debian $(cat "$root/etc/debian_version"), g++ $(inside g++ -dumpfullversion)," \
  "OpenSSL $(inside openssl version | cut -d' ' -f2): built in $built s without a warning;" \
  "passed: $passed"
