"""The commands of TSL-300, one per verb.

python -m evaluation.suites.tsl300 mapping
python -m evaluation.suites.tsl300 rows --labels TSL300 --video-root videos --out tsl.jsonl
python -m evaluation.predict --run runs/demo/grpo --rows tsl.jsonl \\
        --video-root videos --name tsl
python -m evaluation.suites.tsl300 score --run runs/demo/grpo --name tsl --labels TSL300
"""

from collections.abc import Sequence

from affect.verbs import Verb, run_verb

VERBS = {
    "mapping": Verb(
        "evaluation.suites.tsl300.mapping", "print which emotions are positive, negative or open"
    ),
    "rows": Verb("evaluation.suites.tsl300.rows", "make rows for predict from labels and videos"),
    "score": Verb(
        "evaluation.suites.tsl300.score", "score replies, or a file in TSL-300's own form"
    ),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the verb that `argv` begins with; its exit code."""
    return run_verb("python -m evaluation.suites.tsl300", VERBS, argv)


if __name__ == "__main__":
    raise SystemExit(main())
