.PHONY: test lint types smoke ci gpu

test: ; pytest
lint: ; ruff check . && ruff format --check . && lint-imports
types: ; mypy
smoke: ; limite run recipes/smoke.toml
ci: ; .ci/run
gpu: ; benchmarks/gpu.sh
