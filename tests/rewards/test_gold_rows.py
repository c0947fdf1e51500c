"""The annotated truth earns full marks: six real clips, under both presets.

Rows that the paper's own limits mark down (more than 1,200 tokens, a segment under .4 s) are left
to `marked_down`, which names them; of these six there is none.
"""

import json
from typing import NamedTuple

import pytest

from affect.parsing import parse_reply
from affect.taxonomy import speaks_of
from affect.timeline import Timeline
from rewards import RewardSet
from rewards.constants import HARDENED, PAPER
from rewards.filler import is_filler, profile_reason
from rewards.words import split_words
from tests.paths import SHARED, needs_shared

pytestmark = needs_shared


class GoldRow(NamedTuple):
    name: str
    text: str
    truth: Timeline
    num_tokens: int


def gold_rows() -> list[GoldRow]:
    path = SHARED / "videos" / "real.jsonl"
    if not path.is_file():
        return []
    rows = []
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        text = row["conversations"][1]["value"]
        parsed = parse_reply(text, row["video_duration"])
        assert parsed.timeline is not None, (row["id"], parsed.faults)
        # Qwen's BPE needs 126 to 386 tokens for these, 4.2 characters each; a third of the
        # characters is above that for every row.
        rows.append(GoldRow(row["id"], text, parsed.timeline, len(text) // 3))
    return rows


ROWS = gold_rows()


def marked_down(row: GoldRow) -> bool:
    shortest = min(s.end_seconds - s.start_seconds for s in row.truth.segments)
    return row.num_tokens > PAPER.soft_limit_tokens or shortest < PAPER.min_segment_seconds


def test_there_are_rows_and_the_papers_limits_mark_none_down() -> None:
    assert len(ROWS) >= 6
    assert [row.name for row in ROWS if marked_down(row)] == []


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_gold_earns_full_marks(row: GoldRow) -> None:
    parsed = parse_reply(row.text, row.truth.duration_seconds, row.num_tokens)
    paper = RewardSet.from_preset("paper").score(parsed, row.truth)
    assert (paper.struct, paper.count, paper.seg, paper.emo) == (1.0, 1.0, 1.0, 1.0)
    # 77 to 92 words where equation 8 has its peak at 120: exp(-43/40) to exp(-28/40)
    assert 0.34 < paper.reason < 0.50
    assert set(RewardSet.from_preset("hardened").score(parsed, row.truth).values()) == {1.0}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_gold_passes_the_hardened_limits_without_the_allowance_for_references(
    row: GoldRow,
) -> None:
    ideal = "A green kite climbs over bright roofs, turns twice and dips into far blue hills."
    for segment in row.truth.segments:
        words = split_words(segment.reason)
        assert HARDENED.flat_min_words <= len(words) <= HARDENED.flat_max_words
        assert speaks_of(segment.reason, segment.emotion), (row.name, segment.emotion)
        profile = profile_reason(segment.reason, words, segment.emotion)
        assert not is_filler(profile, profile_reason(ideal, split_words(ideal), segment.emotion))
