#!/usr/bin/env bash
# Everything that wants a GPU, on one machine: bits first, then times; results as they stand in evals/*/results.
#
#     evals/gpu_session.sh OUT [PROCESSES [SEEDS]]
#
# Needs a GPU, torch, z3, NumPy, a C++ compiler and CUDA 13 (NVRTC); with pytest, the tests of a GPU run last. SEEDS
# random kernels run on the CPU simulator beside the rest, on half of the processes.
set -uo pipefail
out=$1 processes=${2:-$(nproc)} seeds=${3:-0}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out"
failed=0
step() {
    printf '== %s (%d s)\n' "$1" "$SECONDS"
    shift
    "$@" > "$out/step.log" 2>&1 || failed=1
    tail -n 3 "$out/step.log"
    cat "$out/step.log" >> "$out/all.log"
}

step "random kernels, built" python3 -m evals.exactness.random_pack make "$work/random" --first 900000 --count 640 --processes "$processes"
step "random kernels, on the GPU" python3 -m evals.exactness.random_pack check "$work/random" "$out/random_gpu.json"
step "corpus kernels, built" python3 -m evals.exactness.digests make "$work/digests" --processes "$processes"
step "corpus kernels, on the GPU" python3 -m evals.exactness.digests check "$work/digests" "$out/digests_gpu.json"
if [ "$seeds" -gt 0 ]; then
    python3 -m tests.properties --first 1000000 --count "$seeds" --processes $((processes * 3 / 4)) \
        --record "$out/random_simulator.json" --out "$out/failures.py" > "$out/random_simulator.log" 2>&1 &
fi
step "times, built" python3 -m evals.perf.row_kernels build "$work/perf" --processes "$processes"
step "times" python3 -m evals.perf.row_kernels run "$work/perf" "$out/row_kernels.json" --seconds 1
if python3 -c 'import pytest' 2> /dev/null; then
    step "tests of a GPU" python3 -m pytest tests/gpu -q --junitxml "$work/tests.xml"
    step "their record" python3 -m evals.exactness.gpu_tests "$work/tests.xml" "$out/gpu_tests.json"
fi
grep "BELOW GOAL" "$out/all.log"
wait
exit $failed
