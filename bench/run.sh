#!/usr/bin/env bash
# Measures hpcctl beside Slurm, HyperQueue and torchrun on this machine, and first installs what is
# missing. It needs root, and nothing else may run here meanwhile.
#   bench/run.sh                    everything (half an hour); writes bench/RESULTS.md, results.svg, results.json
#   bench/run.sh --quick            few samples of everything; only fails if something does not run
#   bench/run.sh --only launch,rate [--out FOLDER]
# HPC_BIN: the programs to measure (default: build/release/bin, built if they are not there); for the figures
# of `nodes` the simulator is in ../bench beside them.
set -euo pipefail
cd "$(dirname "$0")/.."

case "${1:-}" in
  -h | --help) sed -n '2,8s/^# \{0,1\}//p' "$0"; exit 0 ;;
esac
if [ "$(id -u)" != 0 ]; then
  echo "run.sh: Slurm's daemons and network namespaces need root: sudo bench/run.sh" >&2
  exit 1
fi

if [ -z "${HPC_BIN:-}" ]; then
  deploy/install-deps.sh build
  HPC_BIN=$(deploy/build.sh release hpc-coordinator hpc-worker hpc-supervisor hpcctl hpc-node-simulator)
fi
export HPC_BIN
bench/install-slurm.sh
HPC_BENCH_HYPERQUEUE_PYTHON=$(bench/hyperqueue-env.sh)/bin/python
HPC_TEST_PYTHON=${HPC_TEST_PYTHON:-$(deploy/python-env.sh)/bin/python}
export HPC_BENCH_HYPERQUEUE_PYTHON HPC_TEST_PYTHON
exec python3 bench/compare.py "$@"
