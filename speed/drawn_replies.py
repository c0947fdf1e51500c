"""Batches of replies as a policy samples them, drawn at random: what the speed of rewards is
measured on.

    >>> batch = draw_batches(random.Random(7), num_replies=16, words=90)[0]
    >>> len(batch.completions), len(set(batch.columns["solution"]))
    (16, 2)

A group is eight replies to one clip of three segments. Every reply is a valid timeline with reasons
of its own: boundaries lie up to .6 s off, and one label in four is wrong, so most reasons are read
to the end, as those of a trained policy are. Reasons are sentences put together from the phrases
below, of `words` words in the mean (four fifths to six fifths of it). One word in fifty is new,
like a name or a number, and so stands in no cache; one reason in eight has a typographic
apostrophe and so is no ASCII text.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from affect.prompts import render_segment_prompt
from affect.taxonomy import DAR_EMOTIONS
from affect.timeline import Segment, Timeline

REPLIES_PER_GROUP = 8
GROUPS_PER_BATCH = 8
NUM_SEGMENTS = 3

_RIGHT_LABELS = 0.75
_NEW_WORDS = 0.02
_TYPOGRAPHIC_REASONS = 0.125
_MAX_OFFSET_SECONDS = 0.6
# A segment's keys and numbers, and what words take beyond one token each.
_TOKENS_PER_SEGMENT = 40
_TOKENS_PER_WORD = 1.3


def _phrases(text: str) -> tuple[str, ...]:
    return tuple(line.strip() for line in text.strip().splitlines())


_OPENINGS = _phrases("""
    The picture opens on
    A slow pan leaves the street and finds
    After the cut we are shown
    Out of the fog comes
    The frame tightens around
    For a few seconds nothing moves but
    Behind the glass stands
    Light from the window falls across
    In the foreground waits
    The camera climbs until it reaches
    Without any warning there appears
    Half hidden by leaves sits
""")
_SUBJECTS = _phrases("""
    an old fisherman with a torn net
    a girl whose kite is caught in a tree
    two brown dogs at the edge of a lake
    a waiter who balances nine plates
    the empty carriage of a night train
    a skater in a red jacket
    a bride, laughing, with mud on her shoes
    a spider on a white pillow
    three boys around a broken drone
    a violinist in an underground passage
    the tired face of a nurse
    a goat that wears somebody's hat
""")
_ACTIONS = _phrases("""
    and at once everything begins to slide downhill.
    while the others turn away as if they had agreed on it.
    who looks straight at us, then drops what was held so carefully.
    before the ground gives way and dust covers the lens.
    and a hand, gentle and unhurried, brushes the hair aside.
    until the last lamp goes out one floor after another.
    whose smile grows, stops, and grows again.
    and the crowd, which had been loud, falls completely silent.
    as rain starts to hammer on the tin roof.
    and the small boat turns its bow towards the harbour at last.
    while a door at the far end opens by itself.
    and runs, stumbles, gets up, and runs on with both arms raised.
""")
_CONTRASTS = _phrases("""
    What had seemed safe a moment earlier is now in doubt,
    Since nobody in the shot reacts, the weight of it rests on us,
    Compared with the quiet beginning the change is enormous,
    The colours are warm but the rhythm of the cuts is not,
    We know more than the people on the screen do,
    There's no music to tell us what to think,
    Because the gesture is so small it can't be acted,
    It takes a breath to understand what has been seen,
    The repetition makes plain that it was never an accident,
    Set against the grey water the figure looks tiny,
""")
_MEANINGS = _phrases("""
    so attention narrows to that one point and stays there.
    which is why the earlier tension gives way to something milder.
    and the wish to look away fights with the wish to know.
    so the scene is felt in the stomach first and only later thought about.
    and one remembers having stood in a place like this.
    which leaves room for hope, though not for much of it.
    and whoever watches begins to count the seconds.
    so that relief, if it comes, will have to be earned.
    and the distance kept until now is gone.
    which lets a private memory slip in between two images.
""")
_POOLS = (_OPENINGS, _SUBJECTS, _ACTIONS, _CONTRASTS, _MEANINGS)
_SYLLABLES = ("ma", "ren", "to", "vil", "ka", "sho", "bel", "dru", "min", "osk", "ta", "ley")


@dataclass(frozen=True, slots=True)
class Batch:
    """What TRL gives a reward function: one entry per reply in everything."""

    prompts: Sequence[Any]
    completions: Sequence[Any]
    completion_ids: Sequence[Sequence[int]]
    columns: dict[str, list[Any]]


def draw_batches(rng: random.Random, num_replies: int, words: int) -> list[Batch]:
    """Batches that hold `num_replies` replies in all, rounded up to whole groups.

    `words` is the mean length of a reason. Equal seeds draw equal batches.
    """
    num_groups = -(-num_replies // REPLIES_PER_GROUP)
    return [
        _draw_batch(rng, range(first, min(first + GROUPS_PER_BATCH, num_groups)), words)
        for first in range(0, num_groups, GROUPS_PER_BATCH)
    ]


def _draw_batch(rng: random.Random, groups: range, words: int) -> Batch:
    prompts: list[Any] = []
    completions: list[Any] = []
    completion_ids: list[list[int]] = []
    columns: dict[str, list[Any]] = {"id": [], "solution": [], "video_duration": []}
    for group in groups:
        truth = _draw_truth(rng, words)
        solution = truth.to_json()
        prompt = render_segment_prompt(truth.duration_seconds)
        for _ in range(REPLIES_PER_GROUP):
            reply = _draw_reply(rng, truth, words)
            num_words = sum(len(segment.reason.split()) for segment in reply.segments)
            num_tokens = NUM_SEGMENTS * _TOKENS_PER_SEGMENT + int(_TOKENS_PER_WORD * num_words)
            content = [{"type": "video"}, {"type": "text", "text": _copied(prompt)}]
            prompts.append([{"role": "user", "content": content}])
            completions.append([{"role": "assistant", "content": reply.to_json()}])
            completion_ids.append([0] * num_tokens)
            columns["id"].append(f"clip-{group}")
            columns["solution"].append(_copied(solution))
            columns["video_duration"].append(truth.duration_seconds)
    return Batch(prompts, completions, completion_ids, columns)


def _copied(text: str) -> str:
    """An equal string that is another object, as every row of a data set has its own."""
    return text.encode("utf-8").decode("utf-8")


def _draw_truth(rng: random.Random, words: int) -> Timeline:
    ends = [round(5.0 * (index + 1) + rng.uniform(-1.0, 1.0), 1) for index in range(NUM_SEGMENTS)]
    emotions = rng.sample(DAR_EMOTIONS, NUM_SEGMENTS)
    return _timeline(rng, ends, emotions, words)


def _draw_reply(rng: random.Random, truth: Timeline, words: int) -> Timeline:
    inner = [segment.end_seconds for segment in truth.segments[:-1]]
    offsets = [rng.uniform(-_MAX_OFFSET_SECONDS, _MAX_OFFSET_SECONDS) for _ in inner]
    ends = [round(end + offset, 1) for end, offset in zip(inner, offsets, strict=True)]
    emotions: list[str] = []
    for segment in truth.segments:
        others = [label for label in DAR_EMOTIONS if label not in emotions[-1:]]
        is_right = rng.random() < _RIGHT_LABELS and segment.emotion in others
        emotions.append(segment.emotion if is_right else rng.choice(others))
    return _timeline(rng, [*ends, truth.duration_seconds], emotions, words)


def _timeline(
    rng: random.Random, ends: Sequence[float], emotions: Sequence[str], words: int
) -> Timeline:
    segments = tuple(
        Segment(start, end, emotion, _draw_reason(rng, emotion, words))
        for start, end, emotion in zip([0.0, *ends[:-1]], ends, emotions, strict=True)
    )
    return Timeline(segments, ends[-1])


def _draw_reason(rng: random.Random, emotion: str, words: int) -> str:
    num_words = max(1, round(words * rng.uniform(0.8, 1.2)))
    # No phrase comes twice before all of its kind have come once.
    pools = [rng.sample(pool, len(pool)) for pool in _POOLS]
    # As in annotated reasons, the emotion is named last, after all other words have been looked at.
    ending = f"so the viewer's answer is {emotion.lower()}".split()
    reason: list[str] = []
    turn = 0
    while len(reason) < num_words:
        for pool in pools:
            reason.extend(pool[turn % len(pool)].split())
        turn += 1
    reason = [*reason[: max(0, num_words - len(ending))], *ending]
    reason = [_new_word(rng) if rng.random() < _NEW_WORDS else word for word in reason]
    text = " ".join(reason) + "."
    return text.replace("'", "\u2019") if rng.random() < _TYPOGRAPHIC_REASONS else text


def _new_word(rng: random.Random) -> str:
    if rng.random() < 0.2:
        return str(rng.randrange(2, 10_000))
    return "".join(rng.choice(_SYLLABLES) for _ in range(rng.randrange(2, 5)))
