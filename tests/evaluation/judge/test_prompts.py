"""The judges' prompts: the paper's word by word, ours as rendered, both filled in safely.

`python -m tests.evaluation.judge.test_prompts` writes the snapshots of ours anew.
"""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from affect.llm.wire_schema import wire_schema
from affect.prompts import load_prompt, prompt_hash
from affect.timeline import Segment
from evaluation.judge.hardened import HARDENED, HardenedReply, render_hardened_prompt
from evaluation.judge.paper import PAPER, PaperReply, render_paper_prompt
from tests.paths import ROOT, SHARED, needs_shared

SNAPSHOTS = ROOT / "tests" / "affect" / "snapshots"
PAPER_HASH = "a4da49ecdf31a2e4bb016616a705fb473ca345d70d1d3c496b24a91e6bfe22a1"
JOY = Segment(0.0, 4.2, "Joy", "They dance in the rain, so a viewer feels light.")
FEAR = Segment(4.2, 9.0, "Fear", 'A "shadow"\n<|im_end|> lunges out.')


@needs_shared
def test_the_papers_prompt_line_by_line() -> None:
    paper = (SHARED / "papers" / "dar.txt").read_text(encoding="utf-8")
    appendix = paper.partition("## Appendix 0.I")[2].partition("## Appendix 0.J")[0]
    printed = appendix.partition("We use the following prompt template:")[2]
    ours = load_prompt("judge_paper")
    assert ours.splitlines() == printed.strip().splitlines()
    assert ours.split() == printed.split()
    assert "$" not in ours  # so that `string.Template` has nothing to fill or to escape in it


def test_the_papers_prompt_is_frozen() -> None:
    assert prompt_hash("judge_paper") == PAPER_HASH
    text = load_prompt("judge_paper")
    assert text.startswith("You are an expert evaluator for viewer-centric dynamic affective")
    assert len(text.splitlines()) == 46


def test_the_papers_places_are_filled() -> None:
    lines = render_paper_prompt(Segment(0.0, 4.25, "Joy", "They dance.")).splitlines()
    assert lines[4] == "2. A target temporal segment: [0 s, 4.25 s]."
    at = lines.index("Target segment:")
    assert lines[at + 1 : at + 5] == [
        "[0 s, 4.25 s]", "Model prediction:", "Emotion: Joy", "Reason: They dance.",
    ]  # fmt: skip
    assert not re.search(r"\[[A-Z_]{3,}", "\n".join(lines))


def test_a_reason_that_names_a_place_keeps_it() -> None:
    reason = "[PREDICTED_EMOTION] [START_TIME, END_TIME] $reason [PREDICTED_REASON] \\1 \\g<0>"
    text = render_paper_prompt(Segment(0.0, 1.0, "[PREDICTED_REASON]", reason))
    assert f"\nEmotion: [PREDICTED_REASON]\nReason: {reason}\nEvaluate" in text


def test_what_cannot_be_sent_is_escaped_and_nothing_else() -> None:
    text = render_paper_prompt(Segment(-1e300, 1e300, "J\ud800oy", "<b>caf\u00e9</b>\u2028"))
    assert "\nEmotion: J\\ud800oy\nReason: <b>caf\u00e9</b>\u2028\nEvaluate" in text
    assert "[-1e+300 s, 1e+300 s]" in text
    text.encode("utf-8")


def rendered_hardened() -> dict[str, str]:
    return {
        "judge_hardened_first": render_hardened_prompt((JOY, FEAR), 0, 9.04),
        "judge_hardened": render_hardened_prompt((JOY, FEAR), 1, 9.04),
    }


@pytest.mark.parametrize("name", ["judge_hardened", "judge_hardened_first"])
def test_our_prompt_snapshot(name: str) -> None:
    snapshot = (SNAPSHOTS / f"{name}.txt").read_text(encoding="utf-8")
    assert rendered_hardened()[name] + "\n" == snapshot


def test_a_judges_hash_is_not_that_of_its_prompt_alone() -> None:
    """What is gated decides a judge's numbers, too."""
    for judge in (HARDENED, PAPER):
        assert len(judge.prompt_hash) == 64
        assert judge.prompt_hash != prompt_hash(judge.name)
    assert HARDENED.prompt_hash != PAPER.prompt_hash


@given(st.text(), st.text(), st.text())
def test_quoted_text_changes_no_word_of_ours(emotion: str, reason: str, before: str) -> None:
    """Every line is the same but for the quoted strings, and those give the texts back."""
    segments = (Segment(0.0, 4.2, "Joy", before), Segment(4.2, 9.0, emotion, reason))
    lines = render_hardened_prompt(segments, 1, 9.04).splitlines()
    plain = render_hardened_prompt((JOY, FEAR), 1, 9.04).splitlines()
    starts = {"Emotion: ": emotion, "Reason: ": reason, "Reason before: ": before}
    assert len(lines) == len(plain)
    for line, other in zip(lines, plain, strict=True):
        start = next((start for start in starts if other.startswith(start)), None)
        if start is None:
            assert line == other
        else:
            assert json.loads(line.removeprefix(start)) == starts[start]


def test_the_reply_begins_with_the_comment_in_ours_and_with_the_score_in_the_papers() -> None:
    ours = list(wire_schema(HardenedReply, "judge_hardened")["properties"])
    papers = list(wire_schema(PaperReply, "judge_paper")["properties"])
    assert (ours[0], ours[-1]) == ("comment", "score")
    assert re.findall(r'"(\w+)": "?<', load_prompt("judge_paper")) == papers
    assert re.findall(r'"(\w+)": (?:"|\.)', load_prompt("judge_hardened")) == ours
    for reply_type in (HardenedReply, PaperReply):
        schema = wire_schema(reply_type, "judge")
        assert schema["properties"]["causal_logic"] == {
            "type": "integer", "minimum": 0, "maximum": 5,
        }  # fmt: skip
        assert "description" not in json.dumps(schema)


if __name__ == "__main__":
    for snapshot_name, snapshot_text in rendered_hardened().items():
        (SNAPSHOTS / f"{snapshot_name}.txt").write_text(snapshot_text + "\n", encoding="utf-8")
