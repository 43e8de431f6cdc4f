#!/usr/bin/env bash
# Installs Debian's Slurm and munge for the benchmark, unless they are installed. None of the
# services that it installs starts, now or at boot. A service that was there before is left as it
# is.
set -euo pipefail

missing=()
for package in slurm-wlm munge iproute2; do
  dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  # Debian's packages ask this script before they start a service. 101 means: do not start it.
  trap 'rm -f "$policy"' EXIT
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod 755 "$policy"
fi
echo "installing ${missing[*]}" >&2
apt-get update -qq
DEBIAN_FRONTEND=noninteractive \
  apt-get install -y -qq -o DPkg::Lock::Timeout=120 --no-install-recommends "${missing[@]}" >/dev/null
for package in "${missing[@]}"; do
  case $package in
    slurm-wlm) services="slurmctld slurmd" ;;
    munge) services=munge ;;
    *) continue ;;
  esac
  # shellcheck disable=SC2086
  systemctl disable --quiet $services 2>/dev/null || true  # nothing to disable without systemd
done
