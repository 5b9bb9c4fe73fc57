#!/usr/bin/env bash
# What only a GPU and a real vLLM can tell: three updates of reinforcement whose responses it samples,
# with new weights after each. The run ends by itself where server and learner disagree beyond the
# limits of `health`; exit code 0 says that updates were made and no gate failed.
#
#     benchmarks/vllm.sh MODEL [FOLDER]      MODEL: a directory that vLLM loads (Llama, Qwen, ...)
#     RANKS=2 DEVICE=cpu PORT=8010 PYTHON=...  how many learn, and where
#
# It has been run with a stand-in for vLLM, and not with vLLM: no GPU was at hand.
set -euo pipefail
cd "$(dirname "$0")/.."

model=$(realpath "${1:?which model: a directory in the layout of Hugging Face}")
out=${2:-runs/vllm}
python=${PYTHON:-python3}
port=${PORT:-8010}
mkdir -p "$out"
out=$(realpath "$out")
export PYTHONPATH=$PWD${PYTHONPATH:+:$PYTHONPATH} LIMITE_PLUGINS=none OMP_NUM_THREADS=1

cp -rL "$model" "$out/policy"
touch "$out/policy/limite-engine.json" # says that it may be replaced
cat >"$out/recipe.toml" <<RECIPE
name = "vllm"
seed = 1

[model]
type = "pretrained"
path = "$model"

[stages.rl]
type = "rl"
problems = { sources = { sum-chain = 1 } }
steps = 3
groups = 8
rollouts = 8
max_tokens = 128
overlong = { buffer_tokens = 128, factor = 1.0 } # lengths teach a model that solves nothing
health = { action = "stop" }
optimizer = { type = "adamw", lr = 1e-6 }

[stages.rl.engine]
type = "openai-server"
server = "vllm"
url = "http://127.0.0.1:$port"
directory = "$out/policy"
dtype = "bfloat16"
RECIPE
"$python" -m limite check "$out/recipe.toml"

VLLM_SERVER_DEV_MODE=1 vllm serve "$out/policy" --host 127.0.0.1 --port "$port" \
  --gpu-memory-utilization 0.4 --max-model-len 2048 >"$out/server.log" 2>&1 &
server=$!
trap 'kill "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true' EXIT
for _ in $(seq 300); do
  curl -sf "http://127.0.0.1:$port/v1/models" >/dev/null && break
  kill -0 "$server" 2>/dev/null || { tail -n 20 "$out/server.log"; exit 1; }
  sleep 1
done

name=run-$(date +%s)
"$python" -m torch.distributed.run --nproc-per-node "${RANKS:-1}" -m limite run "$out/recipe.toml" \
  --out "$out" --name "$name" --device "${DEVICE:-cuda}"
"$python" - "$out/$name/stages/01-rl" <<'READ'
import json
import sys
from pathlib import Path

stage = Path(sys.argv[1])
lines = [json.loads(line) for line in (stage / "metrics.jsonl").open()]
for line in lines:
    print({name: each for name, each in line.items() if name.startswith(("ratio/", "time/", "policy"))})
failed = [each for each in map(json.loads, (stage / "health.jsonl").open()) if not each["passed"]]
updates = lines[-1]["optim/updates"]
print(f"{updates} updates, {len(failed)} gates failed")
sys.exit(bool(failed) or not updates)
READ
