"""The replies that scripted servers give to every question of the data builder.

    python -m affect.llm.scripted --api openai --answers tests.data_prep.scripted_answers:answer

A reply keeps to all rules that its prompt states (times, number of words, labels), which it reads
there, and is picked by the question's digest. Some segments get the feeling of the one before, so
that phases are joined; one in four is judged too low at first, and passes once its reason was
written again.
"""

import hashlib
import json
import re
from typing import Any

from affect.taxonomy import DAR_EMOTIONS

_SEEN_AGAIN = "Seen once more,"
"""Begins each reason that was written again or of joined segments: no judge finds it too low, so
that every video is done after one rewrite."""

_THINGS = ("brown dog", "red ball", "wet sand", "tall tree", "small boat", "grey cloud", "old wall")
_ACTS = ("drifts out of the picture", "comes nearer", "falls over", "is lit up", "turns around")
_CHAIN = (
    "the {thing} {act}, which nobody who watches had expected at this moment, and the eye follows "
    "it from one side of the picture to the other while everything else keeps still, so that the "
    "viewer, who had settled into what was shown before, begins to wonder how it will go on and "
    "whether it can end well, and it is just this turn that brings up {emotion} in whoever watches"
)


def answer(
    name: str, texts: list[str], num_pictures: int, schema: dict[str, Any] | None, digest: str
) -> dict[str, Any]:
    """Raises ValueError for a question that is none of the builder's."""
    prompt = "\n".join(texts)
    keys = set((schema or {}).get("properties", {}))
    for needed, reply in _REPLIES.items():
        if needed in keys:
            return reply(prompt, digest)
    raise ValueError(f"no scripted reply for {name!r} with the keys {sorted(keys)}")


def _propose(prompt: str, digest: str) -> dict[str, Any]:
    duration_seconds = float(_find(r"silent video of ([\d.]+) seconds", prompt))
    most = int(_find(r"At most (\d+) segments", prompt))
    num_segments = 1 + _pick(digest, "segments", min(4, most, max(1, int(duration_seconds / 1.2))))
    length = duration_seconds / num_segments
    inner = [
        round(length * place + (_pick(digest, place, 5) - 2) * 0.1, 1)
        for place in range(1, num_segments)
    ]
    times = [0.0, *inner, duration_seconds]
    return {
        "segments": [
            {
                "start_seconds": times[place],
                "end_seconds": times[place + 1],
                "event": f"The {_thing(digest, place)} {_act(digest, place)}.",
            }
            for place in range(num_segments)
        ]
    }


def _verify(prompt: str, digest: str) -> dict[str, Any]:
    start, end = map(float, _found(r"from ([\d.]+) to ([\d.]+) seconds", prompt))
    chance = _pick(digest, "verdict", 10)
    if chance < 2 and end - start > 1.6:
        middle = round((start + end) / 2, 1)
        return {"reason": "Two things happen.", "verdict": "split", "split_seconds": [middle]}
    verdict = "complete"
    if chance == 2 and "the clip begins here" not in prompt:
        verdict = "merge_before"
    if chance == 3 and "the clip ends here" not in prompt:
        verdict = "merge_after"
    return {"reason": "It is seen to go on.", "verdict": verdict, "split_seconds": []}


def _describe(prompt: str, digest: str) -> dict[str, Any]:
    first, second = _thing(digest, 0), _thing(digest, 1)
    act = _act(digest, 0)
    if first == second:
        return {"description": f"The {first} {act}.", "entities": [first]}
    return {"description": f"The {first} {act} beside the {second}.", "entities": [first, second]}


def _tag(prompt: str, digest: str) -> dict[str, Any]:
    genres = _find(r'"genre" is one of: ([^\n]+?)\. ', prompt).split(", ")
    scenes = _find(r'"scene" is one of: ([^\n]+?)\. ', prompt).split(", ")
    return {
        "genre": genres[_pick(digest, "genre", len(genres))],
        "scene": scenes[_pick(digest, "scene", len(scenes))],
    }


def _reason(prompt: str, digest: str) -> dict[str, Any]:
    num_pairs = int(_find(r"exactly (\d+) pairs", prompt))
    least, most = map(int, _found(r"(\d+) to (\d+) words", prompt))
    emotions = _emotions(prompt)
    before = re.search(r"what the viewer felt then: ([\w ]+)", prompt)
    is_again = "did not pass its examination" in prompt or "joins neighbouring segments" in prompt
    first = _pick(digest, "emotion", len(emotions))
    chosen = [emotions[(first + place) % len(emotions)] for place in range(num_pairs)]
    if before and before[1].strip() in emotions and _pick(digest, "same", 3) == 0:
        chosen[0] = before[1].strip()
    pairs = []
    for place, emotion in enumerate(chosen):
        thing, act = _thing(digest, place), _act(digest, place)
        opening = f"{_SEEN_AGAIN} in {place + 1}" if is_again else f"Looking at it in {place + 1}"
        text = f"{opening} ways, " + _CHAIN.format(thing=thing, act=act, emotion=emotion.lower())
        words = text.split()
        while len(words) < least:
            words += f"and still the {thing} {act}".split()
        pairs.append(
            {
                "evidence": f"The {thing} {act}.",
                "appraisal": "This was not to be expected.",
                "trigger": f"The moment when the {thing} {act}.",
                "emotion": emotion,
                "reason": " ".join(words[:most]) + ".",
            }
        )
    return {"pairs": pairs, "picked": 0}


def _judge(prompt: str, digest: str) -> dict[str, Any]:
    reason = _find(r"under examination:\nEmotion: [^\n]+\nReason: ([^\n]+)", prompt)
    is_low = _SEEN_AGAIN not in reason and _pick(reason, "low", 4) == 0
    scores = {
        dimension: 2 if is_low else 4 + _pick(digest, dimension, 2) for dimension in _DIMENSIONS
    }
    feedback = "Too little of it is to be seen." if is_low else "It is borne out by the pictures."
    return {"feedback": feedback, **scores}


_DIMENSIONS = (
    "visual_grounding", "causal_logic", "viewer_centricity", "temporal_consistency",
    "answer_consistency",
)  # fmt: skip
_REPLIES = {
    "segments": _propose,
    "verdict": _verify,
    "entities": _describe,
    "genre": _tag,
    "pairs": _reason,
    "visual_grounding": _judge,
}
"""By a key that only this question's reply has: Gemini's wire carries no name for a schema."""


def _emotions(prompt: str) -> list[str]:
    """Among which the prompt lets a reply choose."""
    rated = re.search(r"strongest first: ([^.]+)\. Every pair's emotion must be", prompt)
    return rated[1].split(", ") if rated else list(DAR_EMOTIONS)


def _thing(digest: str, place: int) -> str:
    return _THINGS[_pick(digest, f"thing {place}", len(_THINGS))]


def _act(digest: str, place: int) -> str:
    return _ACTS[_pick(digest, f"act {place}", len(_ACTS))]


def _pick(text: str, what: object, most: int) -> int:
    """0 to most - 1, evenly and the same every time."""
    text = json.dumps([text, str(what)])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "big") % most


def _found(pattern: str, prompt: str) -> tuple[str, ...]:
    match = re.search(pattern, prompt)
    if match is None:
        raise ValueError(f"no scripted reply: the prompt does not say {pattern!r}")
    return match.groups()


def _find(pattern: str, prompt: str) -> str:
    return _found(pattern, prompt)[0]
