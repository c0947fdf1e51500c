#!/usr/bin/env bash
# Our GRPO step against a plain one on a GPU, for a Qwen2.5-VL-3B of random weights: seconds,
# memory, share of the device's matrix rate, equality. At most 8 minutes.
#
#   speed/gpu_check.sh [FOLDER]        prints each stage; FOLDER (default: .) gets gpu_check.json
#
# Needs torch 2.11 or later with CUDA, trl, transformers, datasets, dill and multiprocess: not this
# project's other requirements, and it need not be installed. PYTHON names the interpreter.
set -euo pipefail

folder=$(realpath "${1:-.}")
cd "$(dirname "$0")/.."
if [[ -n "${PYTHON:-}" ]]; then
  python=$PYTHON
elif [[ -x .venv/bin/python ]]; then
  python=.venv/bin/python
else
  python=python3
fi
mkdir -p "$folder"
export HF_HUB_OFFLINE=1 TOKENIZERS_PARALLELISM=false
exec timeout --kill-after=10 480 "$python" -m speed.gpu_check --out "$folder/gpu_check.json"
