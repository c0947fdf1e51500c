"""Human evaluation (paper, table 3): experts rate reasons, and are compared with the judges.

    python -m evaluation.human sheets runs/base runs/sft runs/grpo --name test --out study
    python -m evaluation.human ratings study returned/*.csv

The first writes a page and a table per expert, the second reads the filled tables back.
"""

from collections.abc import Sequence

from affect.verbs import Verb, run_verb

VERBS = {
    "sheets": Verb("evaluation.human.sheets", "write sheets on which experts rate several runs"),
    "ratings": Verb("evaluation.human.read_back", "read filled sheets back: means and agreement"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the verb that `argv` begins with; exit code 2 for no verb or an unknown one."""
    return run_verb("python -m evaluation.human", VERBS, argv)


if __name__ == "__main__":
    raise SystemExit(main())
