#!/usr/bin/env bash
# Installs the Debian packages that hpcctl needs, but only those that are missing.
#   install-deps.sh build     to build it
#   install-deps.sh cluster   to build it, and to run tests of real clusters with it
#   install-deps.sh test      to build it with every compiler, and to run all its tests
set -euo pipefail

build=(
  g++ lld cmake ninja-build pkg-config ccache binutils git ca-certificates
  libgrpc++-dev protobuf-compiler protobuf-compiler-grpc libprotobuf-dev
  libabsl-dev libnghttp2-dev libssl-dev libc-ares-dev libre2-dev zlib1g-dev
  libsqlite3-dev libzstd-dev
  libcli11-dev nlohmann-json3-dev libtomlplusplus-dev
  libgtest-dev libgmock-dev
  python3 python3-venv
  sqlite3 zstd  # to read what was recorded
)
cluster=(curl dbus iproute2 openssl procps)
# Of the names before and after a | the first is meant that the release has: Debian 12, Debian 13.
test=(
  "clang-14|clang-19" "clang-tidy-14|clang-tidy-19" "clang-format-14|clang-format-19" "libclang-rt-14-dev|libclang-rt-19-dev"
  mmdebstrap python3-dev systemd-container
)

packages=("${build[@]}")
case "${1:-build}" in
  build) ;;
  cluster) packages+=("${cluster[@]}") ;;
  test) packages+=("${cluster[@]}" "${test[@]}") ;;
  *) echo "install-deps.sh: '$1' is none of build, cluster and test" >&2; exit 2 ;;
esac

installed() {
  local name
  for name in ${1//|/ }; do
    dpkg-query -W -f '${Status}' "$name" 2>/dev/null | grep -q 'ok installed' && return
  done
  return 1
}

missing=()
for package in "${packages[@]}"; do
  installed "$package" || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

# Prints of each missing package the first name that the release has, or the last.
chosen() {
  local package name
  for package in "${missing[@]}"; do
    for name in ${package//|/ }; do
      ! apt-cache show "$name" >/dev/null 2>&1 || break
    done
    echo "$name"
  done
}

sudo=()
if [ "$(id -u)" != 0 ]; then
  command -v sudo >/dev/null || {
    echo "install-deps.sh: not root, and no sudo. As root: apt-get install" $(chosen) >&2
    exit 1
  }
  sudo=(sudo)
fi
"${sudo[@]}" apt-get update -qq
mapfile -t packages < <(chosen)
echo "installing ${packages[*]}" >&2
"${sudo[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get install -y -qq --no-install-recommends "${packages[@]}" >/dev/null
