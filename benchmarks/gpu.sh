#!/usr/bin/env bash
# What only a GPU can tell, in under ten minutes: the laws on compiled kernels, kernels compiled
# ahead of time, and the benchmark. Each part has its own limit, and its own log in the folder
# given, so that what was done stays whatever comes after it.
#
#     benchmarks/gpu.sh [FOLDER]        PYTHON=... for another interpreter
set -uo pipefail
cd "$(dirname "$0")/.."

out=${1:-runs/gpu}
python=${PYTHON:-python3}
mkdir -p "$out"
export OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1 LIMITE_PLUGINS=none HYPOTHESIS_PROFILE=ci
export PYTHONPATH=$PWD${PYTHONPATH:+:$PYTHONPATH}
unset TRITON_INTERPRET LIMITE_KERNELS
failed=0

part() {  # NAME LIMIT_S COMMAND...
  local name=$1 limit_s=$2 start=$SECONDS code=0
  shift 2
  timeout --kill-after=10 "$limit_s" "$@" >"$out/$name.log" 2>&1 || code=$?
  printf '\n== %s: exit code %s after %s s\n' "$name" "$code" "$((SECONDS - start))"
  grep -E '^(FAILED|ERROR|E  )' "$out/$name.log" | cut -c1-300 | head -n 40
  tail -n 4 "$out/$name.log"
  return "$code"
}

# The project's own pytest options need pytest-xdist; several processes only where it is there.
spread=()
if "$python" -c 'import xdist' 2>/dev/null; then spread=(-n 8 --dist worksteal); fi

"$python" -c 'import torch; print(torch.__version__, torch.cuda.get_device_name(0))' || exit 1

# Compiling ahead of time keeps only the CPU busy, so it goes beside the tests.
part aot 280 "$python" -m limite.core.kernels.aot --arch 80 --arch 90 --json "$out/aot.json" &
aot=$!
part tests 300 "$python" -m pytest -o addopts= -q --strict-markers --import-mode=importlib \
  "${spread[@]}" -p no:cacheprovider -m gpu tests/core/kernels || failed=1
wait "$aot" || failed=1

part benchmark 270 "$python" -m benchmarks.kernels --device cuda --budget-s 250 \
  --json "$out/" || failed=1
sed -n '/^case /,$p' "$out/benchmark.log" | cut -c1-400
exit "$failed"
