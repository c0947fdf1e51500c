"""What a reply says and whether it is right: a table of replies, then any text there is."""

import json
import math
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from affect import parsing
from affect.json_object import decode, find_objects
from affect.parsing import MAX_FAULTS, MAX_REPLY_CHARACTERS, ParsedReply, parse_reply
from affect.taxonomy import DAR_EMOTIONS
from affect.timeline import MAX_SEGMENTS, Segment, Timeline, timeline_faults

JOY = '{"start_time": 0.0, "end_time": 4.0, "emotion": "Joy", "reason": "They dance."}'
FEAR = '{"start_time": 4.0, "end_time": 9.0, "emotion": "Fear", "reason": "A shadow."}'
RIGHT = f'{{"segments": [{JOY}, {FEAR}]}}'
JOY_SEGMENT = Segment(0.0, 4.0, "Joy", "They dance.")
FEAR_SEGMENT = Segment(4.0, 9.0, "Fear", "A shadow.")


def names(parsed: ParsedReply) -> list[str]:
    return [fault.split(":")[0] for fault in parsed.faults]


def changed(old: str, new: str) -> str:
    assert RIGHT.count(old) == 1, old
    return RIGHT.replace(old, new)


@pytest.mark.parametrize(
    "text",
    [
        RIGHT,
        f"\n\t {RIGHT} \r\n",
        json.dumps(json.loads(RIGHT), indent=2),
        json.dumps(json.loads(RIGHT), separators=(",", ":")),
        changed('"start_time": 0.0', '"start_time": 0'),
        changed('"start_time": 0.0', '"start_time": -0.0'),
        changed('"end_time": 9.0', '"end_time": 9'),
        changed('"end_time": 9.0', '"end_time": 90e-1'),
        changed('"end_time": 9.0', '"end_time": 9.05'),
        changed('"end_time": 9.0', '"end_time": 8.95'),
        changed('"start_time": 0.0', '"start_time": 0.05'),
        changed('"start_time": 4.0', '"start_time": 4.05'),
        changed('"start_time": 4.0', '"start_time": 3.95'),
        changed('"Joy"', '"\\u004aoy"'),
    ],
)
def test_right_replies(text: str) -> None:
    parsed = parse_reply(text, 9.0, num_tokens=80)
    assert parsed.faults == ()
    assert parsed.timeline is not None
    assert parsed.timeline.segments == parsed.segments
    assert [segment.emotion for segment in parsed.segments] == ["Joy", "Fear"]
    assert (parsed.duration_seconds, parsed.num_tokens, parsed.text) == (9.0, 80, text)


BOTH = (JOY_SEGMENT, FEAR_SEGMENT)

WRONG: dict[str, tuple[str, list[str], tuple[Segment, ...]]] = {
    # Around the object: forgiven by the lenient reading.
    "fence": (f"```json\n{RIGHT}\n```", ["surrounding_text"], BOTH),
    "prose before": (f"Here you are: {RIGHT}", ["surrounding_text"], BOTH),
    "prose after": (f"{RIGHT} Done.", ["surrounding_text"], BOTH),
    "byte order mark": (f"\ufeff{RIGHT}", ["surrounding_text"], BOTH),
    "no-break space": (f"{RIGHT}\u00a0", ["surrounding_text"], BOTH),
    "think block": (f"<think>a {{ b }} c</think>{RIGHT}", ["surrounding_text"], BOTH),
    "think block with a draft": (
        f'<think>{{"segments": [{FEAR}]}}</think>{RIGHT}',
        ["surrounding_text"],
        BOTH,
    ),
    "brace before": (f"I will use {{ and }}. {RIGHT}", ["surrounding_text"], BOTH),
    "quote before": (f'The 5" screen: {RIGHT}', ["surrounding_text"], BOTH),
    "two answers, the last counts": (
        f'{RIGHT}\n{{"segments": [{JOY}]}}',
        ["surrounding_text", "end"],
        (JOY_SEGMENT,),
    ),
    "another object after": (f'{RIGHT} {{"done": true}}', ["surrounding_text"], BOTH),
    "answer in a list": (f"[{RIGHT}]", ["surrounding_text"], BOTH),
    "draft broken off in words": (
        f'{{"segments": [{JOY}, wait. {RIGHT}',
        ["surrounding_text"],
        BOTH,
    ),
    "answer inside an unclosed one": (f'{{"segments": [{JOY}, {RIGHT}', ["no_object"], ()),
    # No object.
    "empty": ("", ["blank"], ()),
    "white space": (" \n\t", ["blank"], ()),
    "prose": ("The viewer is happy.", ["no_object"], ()),
    "null": ("null", ["no_object"], ()),
    "a list": (f"[{JOY}, {FEAR}]", ["no_object"], ()),
    "a number": ("4.2", ["no_object"], ()),
    "trailing comma": (changed("}]}", "},]}"), ["no_object"], ()),
    "trailing comma in a segment": (changed('"A shadow."', '"A shadow.",'), ["no_object"], ()),
    "single quotes": (RIGHT.replace('"', "'"), ["no_object"], ()),
    "typographic quotes": (RIGHT.replace('"', "\u201d"), ["no_object"], ()),
    "unquoted keys": (RIGHT.replace('"reason"', "reason"), ["no_object"], ()),
    "cut off": (RIGHT[:-1], ["no_object"], ()),
    "cut off in a string": (RIGHT[:-10], ["no_object"], ()),
    "comment": (changed("[{", "[/* first */{"), ["no_object"], ()),
    "newline in a string": (changed("They dance.", "They\ndance."), ["no_object"], ()),
    "python's None": (changed('"A shadow."', "None"), ["no_object"], ()),
    "100,000 brackets": ("[" * 100_000, ["no_object"], ()),
    "100,000 braces": ("{" * 100_000, ["no_object"], ()),
    "100,000 objects": ('{"segments":' * 16_000, ["no_object"], ()),
    "100,000 nested": ("[" * 50_000 + "]" * 50_000, ["no_object"], ()),
    "deep inside the answer": (
        changed('"A shadow."', "[" * 1000 + "]" * 1000),
        ["no_object"],
        (),
    ),
    "too long": (RIGHT + " " * MAX_REPLY_CHARACTERS, ["too_long"], ()),
    # Not the schema.
    "another key": ('{"answer": []}', ["missing_key"], ()),
    "capital key": (changed('"segments"', '"Segments"'), ["missing_key"], ()),
    "segments is an object": (f'{{"segments": {JOY}}}', ["wrong_type"], ()),
    "segments is null": ('{"segments": null}', ["wrong_type"], ()),
    "segments is text": (json.dumps({"segments": RIGHT}), ["wrong_type"], ()),
    "no segment": ('{"segments": []}', ["empty"], ()),
    "extra key": (changed("]}", '], "note": "x"}'), ["extra_key"], BOTH),
    "extra key in a segment": (
        changed('"A shadow."', '"A shadow.", "intensity": 3'),
        ["extra_key"],
        BOTH,
    ),
    "duplicate key": (
        f'{{"segments": [{JOY}], "segments": [{JOY}, {FEAR}]}}',
        ["duplicate_key"],
        BOTH,
    ),
    "duplicate key in a segment": (
        changed('"Joy"', '"Fear", "emotion": "Joy"'),
        ["duplicate_key"],
        BOTH,
    ),
    "missing reason": (changed(', "reason": "A shadow."', ""), ["missing_key"], (JOY_SEGMENT,)),
    "segment is a list": (changed(FEAR, "[4.0, 9.0]"), ["wrong_type"], (JOY_SEGMENT,)),
    "segment is null": (changed(FEAR, "null"), ["wrong_type"], (JOY_SEGMENT,)),
    "reason is null": (changed('"A shadow."', "null"), ["wrong_type"], (JOY_SEGMENT,)),
    "emotion is a list": (changed('"Fear"', '["Fear"]'), ["wrong_type"], (JOY_SEGMENT,)),
    # Not numbers.
    "NaN": (changed('"end_time": 9.0', '"end_time": NaN'), ["not_finite"], (JOY_SEGMENT,)),
    "Infinity": (
        changed('"end_time": 9.0', '"end_time": Infinity'),
        ["not_finite"],
        (JOY_SEGMENT,),
    ),
    "-Infinity": (
        changed('"start_time": 4.0', '"start_time": -Infinity'),
        ["not_finite"],
        (JOY_SEGMENT,),
    ),
    "overflow": (changed('"end_time": 9.0', '"end_time": 1e999'), ["not_finite"], (JOY_SEGMENT,)),
    "5,000 digits": (
        changed('"end_time": 9.0', f'"end_time": {"9" * 5000}'),
        ["not_finite"],
        (JOY_SEGMENT,),
    ),
    "400 digits": (
        changed('"end_time": 9.0', f'"end_time": {"9" * 400}'),
        ["not_finite"],
        (JOY_SEGMENT,),
    ),
    "boolean": (
        changed('"start_time": 0.0', '"start_time": false'),
        ["wrong_type"],
        (FEAR_SEGMENT,),
    ),
    "number in quotes": (
        changed('"start_time": 0.0', '"start_time": "0.0"'),
        ["wrong_type"],
        (FEAR_SEGMENT,),
    ),
    "NaN in quotes": (
        changed('"start_time": 0.0', '"start_time": "nan"'),
        ["wrong_type"],
        (FEAR_SEGMENT,),
    ),
    # Not a timeline; kept as written.
    "late start": (
        changed('"start_time": 0.0', '"start_time": 0.06'),
        ["start"],
        (Segment(0.06, 4.0, "Joy", "They dance."), FEAR_SEGMENT),
    ),
    "early end": (
        changed('"end_time": 9.0', '"end_time": 8.94'),
        ["end"],
        (JOY_SEGMENT, Segment(4.0, 8.94, "Fear", "A shadow.")),
    ),
    "out of order": (
        f'{{"segments": [{FEAR}, {JOY}]}}',
        ["start", "overlap", "end"],
        (FEAR_SEGMENT, JOY_SEGMENT),
    ),
    "reversed": (
        f'{{"segments": [{JOY.replace("0.0", "3.0").replace("4.0", "1.0")}, {FEAR}]}}',
        ["start", "no_length", "gap"],
        (Segment(3.0, 1.0, "Joy", "They dance."), FEAR_SEGMENT),
    ),
    "twice the same": (
        f'{{"segments": [{JOY}, {JOY}]}}',
        ["overlap", "end", "repeated_emotion"],
        (JOY_SEGMENT, JOY_SEGMENT),
    ),
    "unknown label": (
        changed('"Fear"', '"fear"'),
        ["emotion"],
        (JOY_SEGMENT, Segment(4.0, 9.0, "fear", "A shadow.")),
    ),
    "blank reason": (
        changed('"A shadow."', '"  "'),
        ["blank_reason"],
        (JOY_SEGMENT, Segment(4.0, 9.0, "Fear", "  ")),
    ),
    "half a character": (
        changed('"A shadow."', '"A \\ud83d"'),
        ["not_text"],
        (JOY_SEGMENT, Segment(4.0, 9.0, "Fear", "A \ud83d")),
    ),
}


@pytest.mark.parametrize(("text", "expected", "segments"), WRONG.values(), ids=WRONG.keys())
def test_wrong_replies(text: str, expected: list[str], segments: tuple[Segment, ...]) -> None:
    parsed = parse_reply(text, 9.0)
    assert names(parsed) == expected
    assert parsed.timeline is None
    assert parsed.segments == segments


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        (RIGHT, True),
        (changed('"end_time": 9.0', '"end_time": 7.0'), True),
        (changed('"start_time": 4.0', '"start_time": 2.0'), True),
        (changed('"Fear"', '"Joy"'), True),
        (changed('"end_time": 4.0', '"end_time": -1'), True),
        (f"```json\n{RIGHT}\n```", False),
        (RIGHT[:-1], False),
        (changed('"end_time": 9.0', '"end_time": "9.0"'), False),
        (changed('"end_time": 9.0', '"end_time": NaN'), False),
        (changed('"Fear"', '"Dread"'), False),
        (changed('"A shadow."', '" "'), False),
        ('{"segments": []}', False),
        ("", False),
    ],
)
def test_a_reply_fits_the_schema_whatever_its_times(text: str, fits: bool) -> None:
    assert parse_reply(text, 9.0).fits_schema is fits


def test_faults_name_the_place() -> None:
    text = changed('"A shadow."', "null").replace('"start_time": 0.0', '"start_time": true')
    assert parse_reply(text, 9.0).faults == (
        "wrong_type: segments[0].start_time is a boolean, not a number",
        "wrong_type: segments[1].reason is null, not a string",
    )
    assert parse_reply(changed('"Joy"', '"Glee"'), 9.0).faults == (
        "emotion: segments[0] has 'Glee', none of the 27",
    )


def test_a_listed_spelling_counts_and_is_stored_canonical() -> None:
    parsed = parse_reply(changed('"Joy"', '"Awe"'), 9.0)
    assert parsed.timeline is not None
    assert parsed.timeline.segments[0].emotion == "Awe (or Wonder)"
    assert parsed.segments[0].emotion == "Awe (or Wonder)"
    # Two spellings of one emotion are still one emotion.
    twice = changed('"Joy"', '"Awe"').replace('"Fear"', '"Awe (or Wonder)"')
    assert names(parse_reply(twice, 9.0)) == ["repeated_emotion"]


def test_the_tolerance_is_the_callers() -> None:
    text = changed('"end_time": 9.0', '"end_time": 8.85')
    assert names(parse_reply(text, 9.0)) == ["end"]
    released = parse_reply(text, 9.0, tolerance_seconds=0.15)
    assert released.timeline is not None
    assert released.timeline.tolerance_seconds == 0.15


def many_segments(count: int) -> str:
    return json.dumps(
        {
            "segments": [
                {
                    "start_time": float(n),
                    "end_time": n + 1.0,
                    "emotion": ("Joy", "Fear")[n % 2],
                    "reason": "why",
                }
                for n in range(count)
            ]
        }
    )


def test_the_number_of_segments_is_bounded() -> None:
    assert parse_reply(many_segments(MAX_SEGMENTS), float(MAX_SEGMENTS)).timeline is not None
    parsed = parse_reply(many_segments(MAX_SEGMENTS + 1), MAX_SEGMENTS + 1.0)
    assert names(parsed) == ["too_many"]
    assert len(parsed.segments) == MAX_SEGMENTS


def test_the_list_of_faults_is_bounded() -> None:
    parsed = parse_reply(f'{{"segments": [{", ".join(["3"] * 500 + [JOY])}]}}', 9.0)
    assert parsed.segments == (JOY_SEGMENT,)
    assert len(parsed.faults) == MAX_FAULTS + 1
    assert parsed.faults[0].startswith("too_many: 501 segments")
    assert parsed.faults[-1] == "more: 437 further faults"


@pytest.mark.parametrize("duration", [0.0, -1.0, math.nan, math.inf])
def test_a_duration_that_is_none_is_the_rows_mistake(duration: float) -> None:
    with pytest.raises(ValueError, match="a clip cannot last"):
        parse_reply(RIGHT, duration)


def check(text: str, duration: float = 9.0) -> ParsedReply:
    """What holds for every text: no exception, finite times, and one verdict."""
    parsed = parse_reply(text, duration)
    for segment in parsed.segments:
        assert type(segment.start_seconds) is float
        assert type(segment.end_seconds) is float
        assert math.isfinite(segment.start_seconds)
        assert math.isfinite(segment.end_seconds)
        assert isinstance(segment.emotion, str)
        assert isinstance(segment.reason, str)
    assert len(parsed.segments) <= MAX_SEGMENTS
    assert (parsed.timeline is None) == bool(parsed.faults)
    if parsed.timeline is not None:
        assert parsed.timeline == Timeline(parsed.segments, duration)
        assert isinstance(json.loads(text), dict)
    assert len(parsed.faults) <= MAX_FAULTS + 1
    assert all(len(fault) < 300 for fault in parsed.faults)
    return parsed


@given(st.text())
def test_any_text(text: str) -> None:
    check(text)


TIMES = (
    st.floats(-1.0, 10.0)
    | st.floats()
    | st.sampled_from([0.0, 4.0, 9.0, 0, 9, True, None, "4.0", 10**400])
)
WORDS = st.sampled_from([*DAR_EMOTIONS, "Awe", "joy", ""]) | st.text(max_size=5) | st.none()
ENTRIES = st.fixed_dictionaries(
    {"start_time": TIMES, "end_time": TIMES, "emotion": WORDS, "reason": WORDS},
    optional={"extra": WORDS},
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=4) | ENTRIES,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["segments", "reason", "x"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(VALUES | st.fixed_dictionaries({"segments": VALUES | st.lists(ENTRIES, max_size=4)}))
def test_any_json(value: Any) -> None:
    check(json.dumps(value))


@given(st.lists(st.sampled_from(['{"segments":', "[", "]", "{", "}", ",", JOY, FEAR, '"', "x"])))
def test_any_pieces(pieces: list[str]) -> None:
    check("".join(pieces))


@settings(max_examples=200)
@given(st.data())
def test_any_damage_to_a_right_reply(data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(RIGHT)))
    end = data.draw(st.integers(start, min(len(RIGHT), start + 12)))
    filling = data.draw(st.text(max_size=4) | st.sampled_from(['"', "}", "NaN", "\\", "{" * 50]))
    check(RIGHT[:start] + filling + RIGHT[end:])


@given(
    st.text(alphabet=st.characters(exclude_characters="{}"), max_size=20),
    st.text(alphabet=st.characters(exclude_characters="{}"), max_size=20),
)
def test_prose_around_a_reply_is_a_fault_and_nothing_else(before: str, after: str) -> None:
    parsed = check(f"{before}{RIGHT}{after}")
    assert parsed.segments == BOTH
    blank = not before.strip(" \t\n\r") and not after.strip(" \t\n\r")
    assert names(parsed) == ([] if blank else ["surrounding_text"])


def scanned(text: str) -> ParsedReply:
    """The reply as read with the scan alone, without decoding it at once first."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parsing, "decode_whole", lambda text: None)
        return parse_reply(text, 9.0)


@pytest.mark.parametrize("name", WRONG)
def test_wrong_replies_are_wrong_in_the_same_way_without_the_fast_path(name: str) -> None:
    text = WRONG[name][0]
    assert repr(parse_reply(text, 9.0)) == repr(scanned(text))


@given(st.data())
def test_the_fast_path_changes_nothing(data: st.DataObject) -> None:
    text = json.dumps({"segments": data.draw(st.lists(ENTRIES, max_size=3) | VALUES)})
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 3)))
    text = text[:start] + data.draw(st.sampled_from(["", " ", '"', "}", "NaN", ","])) + text[end:]
    assert repr(parse_reply(text, 9.0)) == repr(scanned(text))


@given(
    st.lists(ENTRIES | VALUES, max_size=4),
    st.sampled_from(["", '"emotion": "Joy", ', '"x": 1, "x": 2, ']),
)
def test_no_entry_is_spared_a_fault(entries: list[Any], written_more: str) -> None:
    """Entries that could be read are not asked for all their faults; here all are."""
    text = json.dumps({"segments": entries}).replace('"end_time": ', f'{written_more}"end_time": ')
    objects = [decode(text[found.start : found.end]) for found in find_objects(text)]
    if not objects or "segments" not in objects[-1]:
        return
    expected = [
        fault
        for index, entry in enumerate(objects[-1]["segments"])
        for fault in parsing._entry_faults(entry, f"segments[{index}]")
    ]
    parsed = parse_reply(text, 9.0)
    if len(parsed.segments) == len(entries):
        expected += timeline_faults(parsed.segments, 9.0)
    assert list(parsed.faults) == expected


@given(st.lists(ENTRIES, min_size=1, max_size=4), st.floats(0.1, 20.0))
def test_strict_means_typed_entries_and_no_timeline_fault(
    entries: list[dict[str, Any]], duration: float
) -> None:
    parsed = check(json.dumps({"segments": entries}), duration)
    typed = all(
        set(entry) == {"start_time", "end_time", "emotion", "reason"}
        and all(
            isinstance(entry[key], int | float)
            and not isinstance(entry[key], bool)
            and abs(entry[key]) < 1e300
            for key in ("start_time", "end_time")
        )
        and all(isinstance(entry[key], str) for key in ("emotion", "reason"))
        for entry in entries
    )
    expected = typed and not timeline_faults(parsed.segments, duration)
    assert (parsed.timeline is not None) == expected


@pytest.mark.parametrize(
    "unit",
    ["{", "{}", '{"segments":[', '{"segments":[]}', '{"a":"\\"', JOY, f"{RIGHT} ", '"', "9", "\\"],
)
def test_long_replies_are_read_quickly(unit: str) -> None:
    text = unit * ((MAX_REPLY_CHARACTERS - 1000) // len(unit))
    for candidate in (text, RIGHT[:-2] + text, f'{{"segments": [{text}]}}', f'{{"a": {text}}}'):
        start = time.perf_counter()
        check(candidate)
        assert time.perf_counter() - start < 10.0


def test_depth_does_not_depend_on_the_callers_stack() -> None:
    def deeper(levels: int) -> ParsedReply:
        return deeper(levels - 1) if levels else parse_reply("[" * 100_000 + RIGHT, 9.0)

    assert deeper(600).segments == BOTH
