"""The `dar` command: one line per verb; a verb's code is imported when it is called.

    dar --help
    dar score --help
    dar predict --model runs/demo/grpo/final ...

Each target module offers `main(argv: list[str] | None = None) -> int`, the exit code.
"""

import sys
from collections.abc import Sequence

from affect.verbs import Verb, run_verb

VERBS = {
    "render": Verb(
        "data_prep.rendered.__main__", "draw the rendered world: clips and rows to try all on"
    ),
    "build": Verb(
        "data_prep.build.__main__", "build rows from raw videos: with models, or drafts without"
    ),
    "probe": Verb(
        "affect.video.__main__", "decode video files whole: frames, duration, size, or the fault"
    ),
    "validate": Verb(
        "data_prep.validate.__main__", "check every row of a file and its video, before training"
    ),
    "sft": Verb("train.sft", "cold start: train on rows with their answers"),
    "grpo": Verb("train.grpo", "train on the weighted reward of sampled answers"),
    "predict": Verb("evaluation.predict", "answer the rows of a file with a model"),
    "score": Verb("evaluation.score", "score predictions under the named protocols"),
    "evaluate": Verb("evaluation.evaluate", "from a model and annotations to scores and a page"),
    "import": Verb("evaluation.import_predictions", "take in another system's replies as a run"),
    "analyse": Verb("evaluation.analyse", "per emotion, confusion, boundaries, breakdowns"),
    "judge": Verb("evaluation.judge.__main__", "let a model rate the reasons of predictions"),
    "human": Verb("evaluation.human.__main__", "sheets for experts, and what their ratings say"),
    "tsl300": Verb("evaluation.suites.tsl300.__main__", "temporal localization out of domain"),
    "tables": Verb(
        "evaluation.paper_tables.__main__", "several runs laid out as the paper's tables"
    ),
    "report": Verb(
        "evaluation.report.__main__", "one page: scores, plots, and every clip to watch"
    ),
    "compare": Verb("evaluation.compare", "set the scores of several runs side by side"),
    "publish": Verb("publish.__main__", "export a run's model with its card, and push it to a hub"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the verb that `argv` (default: the process's own arguments) begins with.

    Exit code 2 for no verb or an unknown one, else what the verb returns.
    """
    return run_verb("dar", VERBS, argv)


if __name__ == "__main__":
    sys.exit(main())
