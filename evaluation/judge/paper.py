"""judge_paper: the judge of the paper, with the prompt that its appendix I prints.

    Target segment:
    [0 s, 4.2 s]
    Model prediction:
    Emotion: Joy
    Reason: They dance.

Source: "Benchmarking Dynamic Affective Reasoning: A Viewer-Centric Video Emotion Dataset",
appendix 0.I, "LLM-as-a-judge prompt" (arXiv 2607.10238v1). `affect/prompts/judge_paper.txt` is that
text word by word and line by line, its typography included; the source stands here and not there,
because what stands there is sent. Nothing guards the predicted text: it goes in as it is, so a
reason can speak to this judge. That is the published protocol, and why there is a second judge.
Whoever replied no segment, or gave no reason but an opener, scores 0 and is sent to nobody.
"""

import re
from collections.abc import Sequence

from affect.frozen import Frozen, digest
from affect.prompts import load_prompt, prompt_hash
from affect.timeline import Segment
from evaluation.judge.judge import Judge, Score
from evaluation.judge.reason_gate import GATE_VERSION, why_says_nothing
from evaluation.metrics import Clip

PROMPT = "judge_paper"
_PLACE = re.compile(r"\[START_TIME, END_TIME\]|\[PREDICTED_EMOTION\]|\[PREDICTED_REASON\]")


# Without a docstring, which the schema would carry to the model. Keys in the prompt's order.
class PaperReply(Frozen):
    score: Score
    visual_grounding: Score
    causal_logic: Score
    viewer_centricity: Score
    temporal_consistency: Score
    answer_consistency: Score
    brief_comment: str


def render_paper_prompt(segment: Segment) -> str:
    """The prompt with its places filled in one pass: a reason that holds the name of a place keeps
    it. Halves of characters, which cannot be sent, become escapes; nothing else is changed."""
    values = {
        "[START_TIME, END_TIME]": f"[{segment.start_seconds:g} s, {segment.end_seconds:g} s]",
        "[PREDICTED_EMOTION]": segment.emotion,
        "[PREDICTED_REASON]": segment.reason,
    }
    text = _PLACE.sub(lambda place: values[place.group()], load_prompt(PROMPT))
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _segments(clip: Clip) -> Sequence[Segment]:
    """Those of the lenient reading, as they were written: overlapping, under unknown labels."""
    return () if clip.reply is None else clip.reply.segments


def _why_worth_nothing(segment: Segment) -> str | None:
    """What "Score 0: The answer is invalid" leaves no doubt about."""
    return why_says_nothing(segment.reason, segment.emotion)


def _prompt(segments: Sequence[Segment], index: int, duration_seconds: float) -> str:
    return render_paper_prompt(segments[index])


PAPER = Judge(
    name="judge_paper",
    prompt_hash=digest([prompt_hash(PROMPT), GATE_VERSION]),
    reply_type=PaperReply,
    reads="segment",
    segments=_segments,
    why_worth_nothing=_why_worth_nothing,
    prompt=_prompt,
    comment_key="brief_comment",
)
