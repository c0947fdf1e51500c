"""The data builder: raw videos to verified segments, in rows to train on.

    dar build run --config configs/build/paper.yaml --out builds/vce --videos.root path/to/vce
    dar build status builds/vce
    dar build show builds/vce clips/0001.mp4
    dar build export builds/vce

Each verb is a module of its own, imported when it is called.
"""

import sys
from collections.abc import Sequence

from affect.verbs import Verb, run_verb

VALIDATION = "data_prep.dataset.human_validation"

_OURS = ("affect", "data_prep")
_EXTRAS = {"ray": "ray", "torch": "eval", "transformers": "eval"}
"""Package -> the extra that brings it; all others that a build needs come with `data`."""

VERBS = {
    "run": Verb("data_prep.build.run", "bring all videos through all stages, then export"),
    "status": Verb("data_prep.build.print_status", "how far a build has come, stage by stage"),
    "show": Verb("data_prep.build.show", "one video through all stages, printed and rendered"),
    "export": Verb("data_prep.build.export", "write rows, statistics and data set again"),
    "sheets": Verb(VALIDATION, "sheets on which experts rate an export", ("write",)),
    "ratings": Verb(VALIDATION, "read filled sheets back and compute the agreement", ("read",)),
    "agreement": Verb("data_prep.build.print_agreement", "how far the two judges of a build agree"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the verb that `argv` (default: the process's own arguments) begins with.

    Exit code 2 for no verb, an unknown one, or one whose packages are not installed.
    """
    try:
        return run_verb("dar build", VERBS, argv)
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package in _OURS:
            raise
        extra = _EXTRAS.get(package, "data")
        sys.stderr.write(f"dar build: {package} is not installed: pip install -e '.[{extra}]'\n")
        return 2


if __name__ == "__main__":
    sys.exit(main())
