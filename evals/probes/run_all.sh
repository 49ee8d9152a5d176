#!/bin/sh
# Build and run every probe on the first GPU. Usage: run_all.sh RESULTS_FOLDER [PROBE...]
# Needs nvcc (CUDA 12.8 or later), a compute capability 9.0 GPU, and for two of the steps Python with
# cuda-bindings and numpy, for one a host C++ compiler. Each probe has its own time limit; a failure does not stop the others.
set -u
here=$(cd "$(dirname "$0")" && pwd)
results=${1:?usage: run_all.sh RESULTS_FOLDER [PROBE...]}
shift
probes=${*:-memory_access grouped_cast edges nan_moves row_order column_order fragment_order products approximations approximation_model}
build=$here/build
mkdir -p "$results" "$build"
python=${PYTHON:-python3}

{
  printf '{"probe":"device","gpu":"%s","date":"%s","nvcc":"%s","commit":"%s"}\n' \
    "$(nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem --format=csv,noheader | head -1)" \
    "$(date -u +%Y-%m-%dT%H:%MZ)" "$(nvcc --version | sed -n 's/.*release \([0-9.]*\),.*/\1/p')" \
    "$(git -C "$here" rev-parse --short HEAD 2>/dev/null)"
} >"$results/device.jsonl"

for probe in $probes; do
  if [ -f "$here/$probe.cu" ] && [ "$probe" != nan_moves ] && [ ! -x "$build/$probe" ]; then
    nvcc -std=c++17 -O3 -fmad=false -gencode=arch=compute_90a,code=sm_90a \
      "$here/$probe.cu" -o "$build/$probe" -lpthread >"$results/$probe.build.log" 2>&1 &
  fi
done
wait

for probe in $probes; do
  start=$(date +%s)
  out=$results/$probe.jsonl
  case $probe in
    nan_moves) timeout 60 "$python" "$here/nan_moves.py" "$out" >"$results/$probe.log" 2>&1 ;;
    products) timeout 90 "$build/products" "$out" "$results/products.dump" >"$results/$probe.log" 2>&1 ;;
    approximations)
      mkdir -p "$results/binades"
      timeout 90 "$build/approximations" "$out" "$results/binades" >"$results/$probe.log" 2>&1 ;;
    approximation_model)
      { c++ -O2 -std=c++17 "$here/check_approximations.cpp" -o "$build/check_approximations" -lpthread &&
        timeout 120 "$build/check_approximations" "$results/approximations.jsonl" "$out"; } \
        >"$results/$probe.log" 2>&1 ;;
    *) timeout 90 "$build/$probe" "$out" >"$results/$probe.log" 2>&1 ;;
  esac
  echo "$probe: exit $?, $(($(date +%s) - start)) s, $(wc -l <"$out" 2>/dev/null || echo 0) lines"
  [ -s "$results/$probe.log" ] && tail -n 5 "$results/$probe.log"
done
exit 0
