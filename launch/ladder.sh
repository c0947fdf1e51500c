#!/usr/bin/env bash
# Does GRPO help, and what does each reward term do? Base, cold start and GRPO on several seeds, and
# GRPO again with one term left out in turn; ends in docs/results.md and docs/results.json.
#
#   bash launch/ladder.sh              # everything: hours on two cores
#   JOBS=1 SEEDS="0" ABLATIONS= bash launch/ladder.sh
#
# Every stage of every seed is a run folder of its own under runs/ladder: what is done is not done
# again, what was stopped goes on. No part of the tests.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/.venv/bin:$PATH"
export HF_HUB_OFFLINE=1 WANDB_MODE=offline TOKENIZERS_PARALLELISM=false

# One thread a run and as many runs as cores: two threads don't halve the time of a model this small.
export OMP_NUM_THREADS="${OMP_NUM_THREADS:-1}"
# Large buffers stay with the process: given back, they are cleared by the system at every step
# (glibc; other allocators take no notice).
export MALLOC_MMAP_THRESHOLD_=4294967296 MALLOC_TRIM_THRESHOLD_=8589934592
JOBS="${JOBS:-$(nproc 2>/dev/null || getconf _NPROCESSORS_ONLN)}"
SEEDS="${SEEDS-0 1 2}"
ABLATIONS="${ABLATIONS-count seg emo struct reason}"
ABLATION_SEEDS="${ABLATION_SEEDS-0 1}"
GRPO_STEPS="${GRPO_STEPS:-40}"  # the demo takes 70; these are thirteen runs
OUT="${OUT:-docs/results}"
DATA=data/rendered
ROWS=builds/rendered/export  # paths of clips in them start in $DATA
RUNS=runs/ladder

# Usage: quietly LOG COMMAND...: the command's output goes to LOG, whose end is shown if it fails.
quietly() {
    local log=$1
    shift
    mkdir -p "$(dirname "$log")"
    printf '%s  %s\n' "$(date +%T)" "$*"
    "$@" >> "$log" 2>&1 || { tail -n 20 "$log" >&2; printf 'failed, see %s\n' "$log" >&2; return 1; }
}

launch() {
    accelerate launch --cpu --num_processes 1 --num_machines 1 --mixed_precision no \
        --dynamo_backend no "$@"
}

# Usage: answer RUN: the test clips, greedily.
answer() {
    python -m evaluation.predict --run "$1" --rows "$ROWS/test.sft.jsonl" --video-root "$DATA" \
        --name test --batch-size 25
}

seed_stages() {
    local seed=$1 folder=$RUNS/seed$1
    quietly "$folder/log.txt" python -m affect.model.tiny --rows "$ROWS/train.sft.jsonl" \
        --out "$folder/base" --seed "$seed"
    quietly "$folder/log.txt" launch train/sft.py --config configs/sft/demo.yaml \
        --run_dir "$folder/sft" --seed "$seed" --model.path "$folder/base"
    quietly "$folder/log.txt" launch train/grpo.py --config configs/grpo/demo.yaml \
        --run_dir "$folder/grpo" --seed "$seed" --model.path "$folder/sft/final" \
        --trainer.max_steps "$GRPO_STEPS"
    quietly "$folder/log.txt" python -m evaluation.predict --model "$folder/base" \
        --budget "$folder/grpo/budget.json" --rows "$ROWS/test.sft.jsonl" --video-root "$DATA" \
        --name test --out "$folder/base" --batch-size 25
    quietly "$folder/log.txt" answer "$folder/sft"
    quietly "$folder/log.txt" answer "$folder/grpo"
}

ablation_stages() {
    local seed=$1 term=$2 folder=$RUNS/seed$1/grpo_without_$2
    quietly "$folder.log" launch train/grpo.py --config configs/grpo/demo.yaml \
        --run_dir "$folder" --seed "$seed" --model.path "$RUNS/seed$seed/sft/final" \
        --trainer.max_steps "$GRPO_STEPS" --reward.remove "[\"$term\"]"
    quietly "$folder.log" answer "$folder"
}

# The parts that xargs starts beside each other.
case "${1:-}" in
    seed) seed_stages "$2"; exit ;;
    ablation) ablation_stages "$2" "$3"; exit ;;
    "") ;;
    *) echo "usage: [JOBS=N] [SEEDS=...] [ABLATIONS=...] bash launch/ladder.sh" >&2; exit 2 ;;
esac

python -m data_prep.rendered --out "$DATA" --train 3000 --dev 100 --test 100 --seed 0
python -m data_prep.build run --config configs/build/rendered.yaml
for seed in $SEEDS; do echo seed "$seed"; done | xargs -L 1 -P "$JOBS" bash launch/ladder.sh
for term in $ABLATIONS; do
    for seed in $ABLATION_SEEDS; do echo ablation "$seed" "$term"; done
done | xargs -r -L 1 -P "$JOBS" bash launch/ladder.sh

python -m cli.ladder --runs "$RUNS" --rows "$ROWS/test.sft.jsonl" --out "$OUT"
