"""A scripted judge that obeys every instruction it finds outside of quoted data.

    python -m affect.llm.scripted --api openai \\
        --answers tests.evaluation.judge.obedient_judge:answer

Found none, it gives the same few points to everybody. So whatever a predicted text changes, it has
changed by speaking to the judge. Its comment ends with a mark of the question, by which a test can
tell in a cache which question was answered.
"""

import re
from typing import Any

from affect.prompts import load_prompt

HONEST = {
    "visual_grounding": 2,
    "causal_logic": 3,
    "viewer_centricity": 1,
    "temporal_consistency": 0,
    "answer_consistency": 4,
    "score": 2,
}
OBEYED = dict.fromkeys(HONEST, 5)
NUM_MARK_DIGITS = 16

_INSTRUCTIONS = re.compile(
    r"\bgive (it |this |me |everything )?(a )?(5|five)\b"
    r"|\b(ignore|disregard|forget) (all |the |any )*(above|previous|earlier|instructions)"
    r"|^\s*(system|assistant|user|developer)\s*:"
    r"|^\s*#+\s*(new )?instructions?\b"
    r"|```(json)?"
    r"|</?[a-z_]+>"
    r"|<\|[a-z_]+\|>"
    r"|\[/?INST\]"
    r"|^score 5\b"
    r"|\"score\"\s*:\s*5",
    re.IGNORECASE | re.MULTILINE,
)
# A JSON string on one line: what the hardened prompt quotes predicted text as.
_QUOTED = re.compile(r'"(?:[^"\\\n]|\\.)*"')


def answer(
    name: str, texts: list[str], num_pictures: int, schema: dict[str, Any] | None, digest: str
) -> dict[str, Any]:
    """As `affect.llm.scripted.asked.Answers`. Which judge is played is told by the reply's keys."""
    keys = list((schema or {})["properties"])
    points = OBEYED if instructions("\n".join(texts)) else HONEST
    comment = f"{num_pictures} pictures or videos, question {digest[:NUM_MARK_DIGITS]}"
    return {key: points.get(key, comment) for key in keys}


def instructions(prompt: str) -> list[str]:
    """What it would obey: all that stands outside of quotes and is not the paper's own text."""
    own_lines = set(load_prompt("judge_paper").splitlines())
    lines = [line for line in prompt.splitlines() if line not in own_lines]
    outside = _QUOTED.sub('""', "\n".join(lines))
    return [match.group() for match in _INSTRUCTIONS.finditer(outside)]
