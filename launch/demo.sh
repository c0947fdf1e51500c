#!/usr/bin/env bash
# The whole pipeline on the rendered world, each line a command a person could type.
# A command whose result is there already does nothing, one that was stopped goes on: run it again.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/.venv/bin:$PATH"

# Nothing is fetched; more than four threads only get in the way of a model this small.
export HF_HUB_OFFLINE=1 WANDB_MODE=offline TOKENIZERS_PARALLELISM=false
num_cpus=$(nproc 2>/dev/null || getconf _NPROCESSORS_ONLN)
export OMP_NUM_THREADS="${OMP_NUM_THREADS:-$((num_cpus < 4 ? num_cpus : 4))}"
# Large buffers stay with the process: given back, they are cleared by the system at every step
# (glibc; other allocators take no notice).
export MALLOC_MMAP_THRESHOLD_=4294967296 MALLOC_TRIM_THRESHOLD_=8589934592

step() { printf '\n== %s\n' "$*"; }

step "1/7 Draw the world, then build rows from its clips: decode, select, export"
python -m data_prep.rendered --out data/rendered --train 3000 --dev 100 --test 100 --seed 0
python -m data_prep.build run --config configs/build/rendered.yaml

step "2/7 Make a tiny Qwen2.5-VL with random weights, in place of a base model"
python -m affect.model.tiny --rows builds/rendered/export/train.sft.jsonl --out runs/demo/base

step "3/7 Cold start: learn the schema from rows with answers"
accelerate launch --cpu --num_processes 1 --num_machines 1 --mixed_precision no \
    --dynamo_backend no train/sft.py --config configs/sft/demo.yaml

step "4/7 GRPO: learn from the weighted reward of sampled answers"
accelerate launch --cpu --num_processes 1 --num_machines 1 --mixed_precision no \
    --dynamo_backend no train/grpo.py --config configs/grpo/demo.yaml

# Rows name their clips by paths that start here.
rows=builds/rendered/export/test.sft.jsonl
step "5/7 Answer the held-out clips with all three models"
python -m evaluation.predict --model runs/demo/base --budget runs/demo/grpo/budget.json \
    --rows "$rows" --video-root data/rendered --name test --out runs/demo/base --batch-size 25
python -m evaluation.predict --run runs/demo/sft \
    --rows "$rows" --video-root data/rendered --name test --batch-size 25
python -m evaluation.predict --run runs/demo/grpo \
    --rows "$rows" --video-root data/rendered --name test --batch-size 25

step "6/7 Score the answers"
for run in base sft grpo; do
    python -m evaluation.score --rows "$rows" \
        --predictions "runs/demo/$run/predictions/test.jsonl" > /dev/null
done
python -m evaluation.compare --rows "$rows" \
    --also base=runs/demo/base/predictions/test.jsonl \
    --base SFT=runs/demo/sft/predictions/test.jsonl \
    --other GRPO=runs/demo/grpo/predictions/test.jsonl \
    --out runs/demo/comparison.json

step "7/7 One page about all three: plots, and every clip beside its timelines"
python -m evaluation.report runs/demo/base runs/demo/sft runs/demo/grpo --out runs/demo/report.html

cat << 'PATHS'

What this made:
  data/rendered/                        clips
  builds/rendered/export/               rows for SFT and GRPO, statistics, report.html
  runs/demo/sft/final                   the model after the cold start
  runs/demo/grpo/final                  the model after GRPO
  runs/demo/grpo/metrics.jsonl          rewards, KL, lengths, by step
  runs/demo/grpo/completions/           what was sampled, with its rewards
  runs/demo/{base,sft,grpo}/scores/     scores by protocol, with intervals and counts
  runs/demo/comparison.json             the table above
  runs/demo/report.html                 open it in a browser
PATHS
