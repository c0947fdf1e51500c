"""The judges there are, by name.

Example: `find_judge("judge_hardened").prompt_hash`
"""

from evaluation.judge.hardened import HARDENED
from evaluation.judge.judge import Judge
from evaluation.judge.judgements import JUDGES
from evaluation.judge.paper import PAPER

_JUDGES = {judge.name: judge for judge in (PAPER, HARDENED)}
assert tuple(_JUDGES) == JUDGES


def find_judge(name: str) -> Judge:
    """Raises KeyError for what is none of JUDGES, which a configuration refuses before."""
    return _JUDGES[name]
