#!/usr/bin/env bash
# Builds hpcctl with the compiler and the libraries of Debian 13, in a root folder of its own, and runs
# tests of real clusters with it there. For the night: the first time it takes as long as a clean build.
#   tests/debian13.sh [TEST ...]    of tests/cluster; default: trust_test gang_test
# Needs root and mmdebstrap. HPC_DEBIAN13 in the environment names the folder (default:
# /var/cache/hpcctl/debian13), which is kept: the next time only what has changed is built.
# HPC_BUILD_TYPE=Debug builds without optimising, in half the time.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ "$(id -u)" != 0 ] || ! command -v mmdebstrap >/dev/null; then
  echo "debian13.sh: it needs root and mmdebstrap (apt-get install mmdebstrap)" >&2
  exit 2
fi
# What is mounted below is mounted for this script alone, and gone with it.
if [ -z "${HPC_DEBIAN13_MOUNTS:-}" ]; then
  HPC_DEBIAN13_MOUNTS=own exec unshare --mount --propagation private "$0" "$@"
fi

root=${HPC_DEBIAN13:-/var/cache/hpcctl/debian13}
tests=("$@")
[ ${#tests[@]} -gt 0 ] || tests=(trust_test gang_test)

if [ ! -e "$root/etc/debian_version" ]; then
  mkdir -p "$(dirname "$root")"
  rm -rf "$root.new"
  mmdebstrap --quiet --variant=minbase trixie "$root.new"
  mv "$root.new" "$root"
fi
mkdir -p "$root/src" "$root/build"
mount --bind . "$root/src"
mount -o remount,bind,ro "$root/src"
mount --rbind /proc "$root/proc"
mount --rbind /sys "$root/sys"
mount --rbind /dev "$root/dev"

inside() {
  chroot "$root" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
    LANG=C.UTF-8 PYTHONDONTWRITEBYTECODE=1 "$@"
}

inside /src/deploy/install-deps.sh build
inside apt-get install -y -qq --no-install-recommends curl iproute2 openssl procps >/dev/null
inside cmake -S /src -B /build -G Ninja -DHPC_STATIC=ON \
  -DCMAKE_BUILD_TYPE="${HPC_BUILD_TYPE:-RelWithDebInfo}" >/dev/null
inside nice ninja -C /build --quiet hpcctl hpc-coordinator hpc-worker hpc-supervisor pki_test \
  member_join_test member_wire_session_test
for unit in pki_test member_join_test member_wire_session_test; do
  inside "/build/test/$unit" --gtest_brief=1
done
inside env -C /src/tests/cluster HPC_BIN=/build/bin python3 -m unittest -v "${tests[@]}"
