"""A build's folder with one video whose every stage wrote hostile text, and three that ended early.

folder = write_build(tmp_path / "build", tmp_path / "videos")
read_story(folder, "birds.mp4").state      # "done"
"""

import asyncio
from pathlib import Path

from affect.config import save_config
from affect.judge_dimensions import JUDGE_DIMENSIONS
from affect.llm.call import Call
from data_prep.build.config import BuildConfig
from data_prep.build.folder import BuildFolder
from data_prep.build.journal import FileState, Journal
from data_prep.build.outcome import Failure, Outcome
from data_prep.clip import write_pack
from data_prep.records import (
    Cut,
    Decided,
    Described,
    Description,
    Detection,
    EmotionReason,
    FinalSegment,
    Grounded,
    Grounding,
    Integrity,
    Judged,
    Judgement,
    Proposed,
    Reasoned,
    Reasoning,
    Record,
    Round,
    Selected,
    Snap,
    Snapped,
    Span,
    Tagged,
    Verified,
)
from tests.data_prep.draft.plain_frames import plain_frames
from tests.data_prep.stages.clips import looked_at

HOSTILE = '</td><script>alert(1)</script><img src=x onerror="x">&amp; [bold]\x1b[31m\u202e http://a.example'
SHA256 = "ab" * 32
FIRST, SECOND = Span(start_seconds=0.0, end_seconds=3.0), Span(start_seconds=3.0, end_seconds=8.0)
BASE = "base"


def full_records() -> dict[str, Record]:
    """Of a video that was judged too low once, then rewritten and kept."""
    looked = looked_at(8.0, cut_times=(3.0,), fade_times=(6.0,))
    spans = tuple(
        Span(start_seconds=a, end_seconds=b, event=f"event {HOSTILE}")
        for a, b in ((0.0, 2.8), (2.8, 8.0))
    )
    snap = Snap(
        before_seconds=2.8, after_seconds=3.0, cut=Cut(time_seconds=3.0, kind="cut"),
        outcome="snapped",
    )  # fmt: skip
    gone = Snap(before_seconds=7.9, after_seconds=None, cut=None, outcome="merged")
    check = Integrity(
        span=SECOND, verdict="split", split_seconds=(5.5,), reason=f"two things {HOSTILE}", depth=0
    )
    descriptions = tuple(
        Description(span=span, text=f"a bird {HOSTILE}", entities=("bird", HOSTILE))
        for span in (FIRST, SECOND)
    )
    grounding = Grounding(
        segment=1,
        rewrite=0,
        detections=(
            Detection(entity="bird", score=0.71, time_seconds=3.5, box=(0, 0, 1, 1)),
            Detection(entity=HOSTILE, score=None),
        ),
        ungrounded=(HOSTILE,),
    )
    reasonings = tuple(reasoning(span, e) for span, e in ((FIRST, "Joy"), (SECOND, "Fear")))
    low, high = both_judges(2.5), both_judges(4.5)
    rounds = (
        Round(segments=reasonings, judgements=(low, high), failed_segments=(0,)),
        Round(segments=reasonings, judgements=(high, high), failed_segments=()),
    )
    segments = tuple(
        FinalSegment(
            start_seconds=one.span.start_seconds,
            end_seconds=one.span.end_seconds,
            emotion=one.choice.emotion,
            reason=one.choice.reason,
        )
        for one in reasonings
    )
    return {
        "look": looked,
        "select": Selected(),
        "propose": Proposed(spans=spans, author="gemini"),
        "snap": Snapped(spans=(FIRST, SECOND), snaps=(snap, gone)),
        "verify": Verified(spans=(FIRST, SECOND), checks=(check,), author="internvl"),
        "describe": Described(descriptions=descriptions, author="qwen"),
        "ground": Grounded(descriptions=descriptions, checks=(grounding,), grounder="dino"),
        "tag": Tagged(genre="Nature/Wildlife", scene="outdoor", author="qwen"),
        "reason": Reasoned(segments=reasonings, author="qwen"),
        "judge": Judged(judgements=(low, high)),
        "decide": Decided(provenance="verified", segments=segments, rounds=rounds),
    }


def reasoning(span: Span, emotion: str) -> Reasoning:
    pairs = tuple(
        EmotionReason(
            emotion=one, evidence="wings", appraisal="it may fall", trigger=HOSTILE,
            reason=f"why {one} {HOSTILE}",
        )
        for one in ("Awe (or Wonder)", emotion)
    )  # fmt: skip
    half = (span.start_seconds + span.end_seconds) / 2
    merged = (
        Span(start_seconds=span.start_seconds, end_seconds=half),
        Span(start_seconds=half, end_seconds=span.end_seconds),
    )
    return Reasoning(
        span=span, description=f"a bird {HOSTILE}", pairs=pairs, picked=1, merged_spans=merged
    )


def both_judges(score: float) -> tuple[Judgement, Judgement]:
    scores = dict.fromkeys(JUDGE_DIMENSIONS, score)
    first, second = (
        Judgement(judge=name, scores=scores, feedback=f"feedback of {name} {HOSTILE}")
        for name in ("omni", "internvl")
    )
    return first, second


def write_build(out: Path, root: Path) -> BuildFolder:
    folder = BuildFolder(out)
    config = BuildConfig.model_validate(
        {"out": out, "annotator": "offline", "videos": {"root": root}}
    )
    save_config(folder.config, config)
    write_pack(folder.pack(SHA256, config.picture), plain_frames([(9, 99, 199)] * 32).frames)
    with Journal(folder.journal) as journal:
        asyncio.run(_write(journal))
    return folder


async def _write(journal: Journal) -> None:
    names = ("a/birds.mp4", "a/broken.mp4", "a/still.mp4", "b/waiting.mp4", "b/under way.mp4")
    files = [FileState(name, name, 1234, 5) for name in names]
    journal.begin_run(BASE, files)
    for file in files[:2]:
        await journal.set_sha256(file, SHA256 if file is files[0] else "cd" * 32)
    records = full_records()
    await _add(journal, "a/birds.mp4", records)
    hashes = {stage: f"hash of {stage}" for stage in records}
    await journal.set_outcome(
        "a/birds.mp4", BASE, "digest", Outcome("done", "decide", 11, input_hashes=hashes)
    )
    await journal.add_failure("a/birds.mp4", "tag", "x", Failure("timeout", f"qwen: {HOSTILE}"))
    for from_cache, outcome, cost in ((False, "rate_limited", None), (False, "usable", 0.25)):
        call = Call(
            "describe", "qwen", "describe", "key", 1, 1, outcome, 812, 96, cost, 1.5, from_cache
        )
        await journal.add_call("a/birds.mp4", "describe", call)

    broken = Outcome("failed", "look", 0, "undecodable", HOSTILE, {"look": "hash of look"})
    await journal.add_failure(
        "a/broken.mp4", "look", "hash of look", Failure("undecodable", HOSTILE)
    )
    await journal.set_outcome("a/broken.mp4", BASE, "digest", broken)

    still: dict[str, Record] = {"look": records["look"], "select": Selected(rejection="static")}
    await _add(journal, "a/still.mp4", still)
    hashes = {stage: f"hash of {stage}" for stage in still}
    await journal.set_outcome(
        "a/still.mp4", BASE, "digest", Outcome("rejected", "select", 1, "static", "", hashes)
    )
    some = {stage: records[stage] for stage in ("look", "select", "propose")}
    await _add(journal, "b/under way.mp4", some)


async def _add(journal: Journal, video: str, records: dict[str, Record]) -> None:
    for number, (stage, record) in enumerate(records.items(), start=1):
        text = record.canonical_json()
        await journal.add_record(video, stage, f"hash of {stage}", text, 0.5, BASE, number)
