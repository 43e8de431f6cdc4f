#!/usr/bin/env bash
# Installs the Debian packages that hpcctl needs, but only those that are missing.
#   install-deps.sh build     to build it
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
test=(
  clang-14 clang-format-14 libclang-rt-14-dev
  curl dbus iproute2 openssl procps python3-dev systemd-container
)

packages=("${build[@]}")
case "${1:-build}" in
  build) ;;
  test) packages+=("${test[@]}") ;;
  *) echo "install-deps.sh: '$1' is neither build nor test" >&2; exit 2 ;;
esac

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

sudo=()
if [ "$(id -u)" != 0 ]; then
  command -v sudo >/dev/null || {
    echo "install-deps.sh: not root, and no sudo. As root: apt-get install ${missing[*]}" >&2
    exit 1
  }
  sudo=(sudo)
fi
echo "installing ${missing[*]}" >&2
"${sudo[@]}" apt-get update -qq
"${sudo[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
