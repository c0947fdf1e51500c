"""Degenerate policies that see the video: what part of the true answer is paid as if it were all.

Each starts from the clip's truth and spoils or inflates it in one way. Whatever earns as much as
the truth shows something that the reward can't see.

    >>> {policy.name: policy.answer(clip) for policy in SIGHTED_POLICIES}["fenced"][:7]
    '```json'
"""

import random
from collections.abc import Callable
from dataclasses import replace

from affect.timeline import Segment, segments_to_json
from rewards.audit_clip import AuditClip, Policy, rarest_emotions
from rewards.stock_reasons import stock_reason
from rewards.words import split_words

_LONG_WORDS = 120  # where equation 8 peaks


def _with_reasons(reason_of: Callable[[int, Segment], str]) -> Callable[[AuditClip], str]:
    """The true times and emotions, with a reason made from position and segment."""

    def answer(clip: AuditClip) -> str:
        return segments_to_json(
            [
                replace(segment, reason=reason_of(position, segment))
                for position, segment in enumerate(clip.truth.segments)
            ]
        )

    return answer


def _one_word(position: int, segment: Segment) -> str:
    return " ".join([("the", "cat")[position % 2]] * _LONG_WORDS)


def _label_over_and_over(position: int, segment: Segment) -> str:
    return " ".join([segment.emotion] * _LONG_WORDS)


def _unspecific(position: int, segment: Segment) -> str:
    return (
        f"In this part of the video the viewer watches what is shown, and because of what came "
        f"before, the scene makes the viewer feel {segment.emotion.lower()} more and more."
    )


def _one_for_all(clip: AuditClip) -> str:
    """The first reason in every segment; where there is one segment, three times in a row."""
    segments = clip.truth.segments
    reason = segments[0].reason if len(segments) > 1 else " ".join([segments[0].reason] * 3)
    return segments_to_json([replace(segment, reason=reason) for segment in segments])


def _from_prompt(clip: AuditClip) -> str:
    """The prompt's words as reasons, another stretch of them for each segment."""
    words = clip.prompt_text.replace("<video>", " ").split() or ["video"]
    num_words = min(len(words), _LONG_WORDS)
    starts = [position * num_words % len(words) for position in range(len(clip.truth.segments))]
    return segments_to_json(
        [
            replace(segment, reason=" ".join((words * 2)[start : start + num_words]))
            for start, segment in zip(starts, clip.truth.segments, strict=True)
        ]
    )


def _of_another_segment(clip: AuditClip) -> str:
    """Every reason one segment further; on a clip of one segment, a reason of another emotion."""
    segments = clip.truth.segments
    reasons = [segment.reason for segment in (*segments[1:], segments[0])]
    if len(segments) == 1:
        reasons = [stock_reason(rarest_emotions(clip.truth)[0], 0, _LONG_WORDS)]
    return segments_to_json(
        [replace(segment, reason=reason) for segment, reason in zip(segments, reasons, strict=True)]
    )


def _in_disorder(position: int, segment: Segment) -> str:
    words = split_words(segment.reason)
    random.Random(segment.reason).shuffle(words)
    return " ".join(words) or segment.reason


def _first_repeated(clip: AuditClip) -> str:
    """The first true segment, at least twice and as often as there are segments."""
    first = clip.truth.segments[0]
    num_more = max(1, len(clip.truth.segments) - 1)
    more = (
        replace(first, reason=stock_reason(first.emotion, number, _LONG_WORDS))
        for number in range(num_more)
    )
    return segments_to_json([first, *more])


def _first_only(clip: AuditClip) -> str:
    first = clip.truth.segments[0]
    if len(clip.truth.segments) == 1:  # then it would be the truth itself
        middle = (first.start_seconds + first.end_seconds) / 2
        first = replace(first, end_seconds=round(middle, 1))
    return segments_to_json([first])


def _first_stretched(clip: AuditClip) -> str:
    first = clip.truth.segments[0]
    return segments_to_json([replace(first, end_seconds=clip.truth.segments[-1].end_seconds)])


def _nan_times(clip: AuditClip) -> str:
    nan = float("nan")
    return segments_to_json(
        [replace(s, start_seconds=nan, end_seconds=nan) for s in clip.truth.segments]
    )


def _split_last(clip: AuditClip) -> str:
    """The truth with its last segment cut in two, the second with another emotion."""
    *others, last = clip.truth.segments
    middle = (last.start_seconds + last.end_seconds) / 2
    wrong = rarest_emotions(clip.truth)[0]
    tail = Segment(middle, last.end_seconds, wrong, stock_reason(wrong, 0, _LONG_WORDS))
    return segments_to_json([*others, replace(last, end_seconds=middle), tail])


def _wrong_labels(clip: AuditClip) -> str:
    wrong = rarest_emotions(clip.truth)
    return segments_to_json(
        [
            replace(
                segment,
                emotion=wrong[position % 2],
                reason=stock_reason(wrong[position % 2], position, _LONG_WORDS),
            )
            for position, segment in enumerate(clip.truth.segments)
        ]
    )


SIGHTED_POLICIES: tuple[Policy, ...] = (
    Policy(
        "filler_reasons",
        True,
        "the truth, each reason one word 120 times",
        _with_reasons(_one_word),
    ),
    Policy(
        "filler_label_repeated",
        True,
        "the truth, each reason its label 120 times",
        _with_reasons(_label_over_and_over),
    ),
    Policy(
        "filler_unspecific",
        True,
        "the truth, each reason one fluent sentence that fits any video, with the label put in",
        _with_reasons(_unspecific),
    ),
    Policy(
        "label_only_reasons",
        True,
        "the truth, each reason its label and nothing else",
        _with_reasons(lambda position, segment: segment.emotion),
    ),
    Policy("copied_reasons", True, "the truth, one of its reasons in all segments", _one_for_all),
    Policy(
        "prompt_copied_reasons", True, "the truth, each reason copied from the prompt", _from_prompt
    ),
    Policy(
        "swapped_reasons",
        True,
        "the truth, each reason that of another of its segments",
        _of_another_segment,
    ),
    Policy(
        "disordered_reasons",
        True,
        "the truth, the words of each reason in random order",
        _with_reasons(_in_disorder),
    ),
    Policy(
        "stock_reasons",
        True,
        "the truth, each reason fluent, of its label, and made up",
        _with_reasons(
            lambda position, segment: stock_reason(segment.emotion, position, _LONG_WORDS)
        ),
    ),
    Policy("wrong_labels", True, "the true times, all labels wrong", _wrong_labels),
    Policy(
        "first_segment_repeated", True, "the first true segment, over and over", _first_repeated
    ),
    Policy("first_segment_only", True, "the first true segment, nothing after it", _first_only),
    Policy(
        "first_segment_stretched", True, "the first true segment, until the end", _first_stretched
    ),
    Policy("extra_segment", True, "the truth, its last segment split in two", _split_last),
    Policy("nan_times", True, "the truth, every time NaN", _nan_times),
    Policy(
        "fenced", True, "the truth in a code fence", lambda clip: f"```json\n{clip.answer}\n```"
    ),
    Policy("twice", True, "the truth, written twice", lambda clip: f"{clip.answer}\n{clip.answer}"),
    Policy(
        "lower_case_labels",
        True,
        "the truth, labels in lower case",
        lambda clip: segments_to_json(
            [replace(s, emotion=s.emotion.lower()) for s in clip.truth.segments]
        ),
    ),
)
