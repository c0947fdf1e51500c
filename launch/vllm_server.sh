#!/usr/bin/env bash
# A vLLM server for GRPO rollouts (rollout.engine: vllm_server), which the trainer gives new weights to
# through a folder that both see.
#
#   launch/vllm_server.sh --model runs/paper/sft/final --max-model-tokens 7008 \
#       --sync-root /shared/vllm_sync --host 10.0.0.5 --port 8811
#
# --max-model-tokens is data.max_prompt_tokens + trainer.max_completion_length. It has no password: keep
# it on this machine (the default) or a private network. VLLM_PYTHON names another interpreter than that
# of .venv-vllm (`make vllm`); `launch/vllm_server.sh --help` lists everything.
set -euo pipefail
root="$(cd "$(dirname "$0")/.." && pwd)"
python="${VLLM_PYTHON:-$root/.venv-vllm/bin/python}"
if [ ! -x "$(command -v "$python")" ]; then
    echo "no $python: run 'make vllm', or name an interpreter that has vLLM in VLLM_PYTHON" >&2
    exit 2
fi
export PYTHONPATH="$root${PYTHONPATH:+:$PYTHONPATH}"
exec "$python" -m train.vllm_server "$@"
