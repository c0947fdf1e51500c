"""Random and spoilt replies without end, from a seed: what a policy may write, and worse.

Example: `for kind, text in islice(replies(truth, random.Random(0)), 1500): ...`

A third of them are valid JSON of the schema with another content (other times, labels, reasons), so
that the terms are reached; the rest spoil the form.
"""

import json
import random
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

from affect.taxonomy import DAR_EMOTIONS
from affect.timeline import Timeline

Answer = dict[str, Any]

NUMBERS = [
    "NaN", "Infinity", "-Infinity", "1e999", "-1e999", "1" + "0" * 5000, "-" + "9" * 400, "1e308",
    "-1e308", "5e-324", "-0.0", "0", "true", "false", "null", '"4.0"', '"nan"', "[]", "{}", "4.",
    ".5", "+1", "01", "0x10", "4,0", "1_000", "4.0000000000000001", "1e-400", "\u0664",
]  # fmt: skip
LABELS = [
    "joy", "JOY", "Joy ", "Awe", "Joy\u0301", "\u202eyoJ", "J\u200boy", "Happiness", "", "Joy/Fear",
    "Joy, Fear", "\ud83d", "Interest\u0000", "x" * 10_000,
]  # fmt: skip
TEXTS = [
    "", " ", "\t\n", ".", "'" * 500, "a'" * 500, "\\", '"', "\x00", "\x7f", "joy", "joy " * 4000,
    "the " * 120, "x" * 50_000, "<|video_pad|>", "</think>", '{"segments": []}',
    "\u200b", "\ufeff", "\ud800", "\udc00\ud800",  # nothing to see, half characters
    "\u202e\u05e9\u05dc\u05d5\u05dd", "\u0645\u0631\u062d\u0628\u0627",  # right to left
    "e\u0301" * 500, "\U0001f600" * 200, "\u212a" * 50,  # decomposed, emoji, Kelvin signs
]  # fmt: skip
PIECES = [
    '"', "}", "]", "{", "[", ",", ":", "\\", "\\u", "\\ud800", "\x00", "\n", "NaN", "-", "1e999",
    "e", "9", "```", "<think>", "</think>", "\u201c", "\u201d", "'", "//", "/*", "null", "true",
    "\ufeff", "\u2028",
]  # fmt: skip


def replies(truth: Timeline, rng: random.Random) -> Iterator[tuple[str, str]]:
    """Pairs (kind, reply) without end; the same seed gives the same replies."""
    kinds = list(KINDS.items())
    while True:
        name, make = rng.choice(kinds)
        yield name, make(truth, rng)


def _answer(truth: Timeline) -> Answer:
    answer: Answer = json.loads(truth.to_json())
    return answer


def _valid(truth: Timeline, rng: random.Random) -> str:
    """A timeline of the same clip with other cuts, labels, and reasons of the truth or not."""
    tenths = round(truth.duration_seconds * 10)
    num = min(rng.choice([1, 2, 2, 3, 3, 4, 7]), tenths)
    edges = [0, *sorted(rng.sample(range(1, tenths), num - 1)), tenths]
    if rng.random() < 0.5:  # near the truth
        true_edges = {round(segment.end_seconds * 10) for segment in truth.segments[:-1]}
        moved = {edge + rng.choice([-3, -1, 0, 0, 0, 1]) for edge in true_edges}
        edges = [0, *sorted(edge for edge in moved if 0 < edge < tenths), tenths]
    reasons = [*(segment.reason for segment in truth.segments), "joy", "the " * 50, "A dog barks."]
    entries: list[Answer] = []
    for index, (start, end) in enumerate(pairwise(edges)):
        true = truth.segments[min(index, len(truth.segments) - 1)].emotion
        emotion = true if rng.random() < 0.7 else rng.choice(DAR_EMOTIONS)
        if entries and entries[-1]["emotion"] == emotion:
            emotion = rng.choice([other for other in DAR_EMOTIONS if other != emotion])
        entries.append(_entry(start / 10, end / 10, emotion, rng.choice(reasons)))
    return json.dumps({"segments": entries}, ensure_ascii=rng.random() < 0.5)


def _entry(start: object, end: object, emotion: object, reason: object) -> Answer:
    return {"start_time": start, "end_time": end, "emotion": emotion, "reason": reason}


def _other_number(truth: Timeline, rng: random.Random) -> str:
    """One time, or all, written as something that JSON or the schema doesn't know."""
    text = json.dumps(_answer(truth))
    places = [f'"{key}": ' for key in ("start_time", "end_time")]
    pieces = text.split(place := rng.choice(places))
    chosen = rng.randrange(1, len(pieces))
    everywhere = rng.random() < 0.3
    for index in range(1, len(pieces)):
        if everywhere or index == chosen:
            value = pieces[index].split(",")[0]
            pieces[index] = rng.choice(NUMBERS) + pieces[index][len(value) :]
    return place.join(pieces)


def _other_value(truth: Timeline, rng: random.Random) -> str:
    """A label or reason replaced by another text, or by a value that is no text."""
    answer = _answer(truth)
    entry = rng.choice(answer["segments"])
    no_text = [None, True, 7, 0.5, [], {}, [["a"]], {"reason": "a"}]
    key = rng.choice(["emotion", "reason"])
    entry[key] = rng.choice([*(LABELS if key == "emotion" else TEXTS), *no_text])
    return json.dumps(answer, ensure_ascii=rng.random() < 0.5)


def _other_shape(truth: Timeline, rng: random.Random) -> str:
    """Segments doubled, left out, in another order; keys more, fewer, twice; other nesting."""
    answer = _answer(truth)
    entries = answer["segments"]
    match rng.randrange(11):
        case 0:
            answer["segments"] = entries * rng.randrange(2, 6)
        case 1:
            answer["segments"] = entries[: rng.randrange(len(entries))]
        case 2:
            rng.shuffle(entries)
        case 3:
            rng.choice(entries)[rng.choice(["confidence", "", "Segments", "start"])] = 1.0
        case 4:
            rng.choice(entries).pop(rng.choice(["start_time", "end_time", "emotion", "reason"]))
        case 5:
            answer = {"answer": answer}
        case 6:
            return json.dumps(entries)
        case 7:
            answer["segments"] = rng.choice([None, {}, "segments", 3, [[]], [None], [entries]])
        case 8:
            return json.dumps(answer)[:-1] + ', "segments": []}'
        case 9:
            return json.dumps(answer).replace('"reason"', '"emotion": "Joy", "reason"', 1)
        case 10:
            answer["note"] = json.loads("[" * 40 + "]" * 40)
    return json.dumps(answer)


def _spoilt_text(truth: Timeline, rng: random.Random) -> str:
    """The truth with a few pieces cut out, doubled or replaced."""
    text = truth.to_json()
    for _ in range(rng.randrange(1, 5)):
        start = rng.randrange(len(text) + 1)
        end = min(len(text), start + rng.randrange(60))
        piece = rng.choice(["", text[start:end] * 2, rng.choice(PIECES), rng.choice(TEXTS)[:50]])
        text = text[:start] + piece + text[end:]
    return text


def _surrounded(truth: Timeline, rng: random.Random) -> str:
    text = truth.to_json()
    return rng.choice(
        [
            f"```json\n{text}\n```",
            f"Here it is: {text} Hope this helps!",
            f"<think>{{it bounces}}</think>{text}",
            f"{text}\n{text}",
            f"{text}{{}}",
            f'{{"segments": []}}{text}',
            f"{text},",
            f"\ufeff{text}",
            f"\x00{text}",
            f" \n\t{text}\r\n",
            f"'{text}'",
            json.dumps(text),
            text.replace('"', "'"),
            text.replace('"', "\u201c"),
            text[: rng.randrange(len(text))],
            text[rng.randrange(len(text)) :],
            text.encode("utf-16").decode("latin-1"),
        ]
    )


def _noise(truth: Timeline, rng: random.Random) -> str:
    """Bytes read as text, or any code points."""
    data = rng.randbytes(rng.randrange(400))
    return rng.choice(
        [
            data.decode("utf-8", "surrogateescape"),
            data.decode("utf-8", "replace"),
            data.decode("latin-1"),
            "".join(chr(rng.randrange(0x110000)) for _ in range(rng.randrange(50))),
            "".join(rng.choice('{}[]",:0.9eE+-\\ntrufalsn ') for _ in range(rng.randrange(300))),
            "",
        ]
    )


def _large(truth: Timeline, rng: random.Random) -> str:
    """What costs time where somewhere a loop runs inside a loop."""
    entry = json.dumps(_answer(truth)["segments"][0])
    short = json.dumps(_entry(0, 1, "Joy", "joy"))
    size = rng.randrange(1, 20)
    return rng.choice(
        [
            rng.choice("[{\"'\\,:9") * 5000 * size,
            '{"segments": [' * 1000 * size,
            '{"a":' * 2000 * size + "1" + "}" * 2000 * size,
            f'{{"segments": [{", ".join([short] * 500 * size)}]}}',
            f'{{"segments": [{", ".join([entry] * 20 * size)}]}}',
            '{"segments": []}' * 500 * size,
            f'{{"segments": [{", ".join(["{}"] * 1000 * size)}]}}',
            f'{{"segments": [{", ".join(["0"] * 1000 * size)}]}}',
            json.dumps(truth.to_json() * size),
            f'{{"segments": {"1" * 5000 * size}}}',
        ]
    )


KINDS: dict[str, Callable[[Timeline, random.Random], str]] = {
    "valid": _valid,
    "near": _valid,
    "close": _valid,
    "number": _other_number,
    "value": _other_value,
    "shape": _other_shape,
    "spoilt": _spoilt_text,
    "surrounded": _surrounded,
    "noise": _noise,
}
"""Each is drawn equally often; large replies are drawn apart, because each costs milliseconds."""


def large_replies(truth: Timeline, rng: random.Random) -> Iterator[str]:
    """Large replies without end, up to a megabyte."""
    while True:
        yield _large(truth, rng)
