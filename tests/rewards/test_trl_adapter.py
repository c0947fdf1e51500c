"""The five callables as TRL 1.16 calls them: by keyword, one after another, with all columns."""

import pickle
from typing import Any

import pytest

from affect.parsing import parse_reply
from rewards import RewardSet
from rewards import trl_adapter as adapter
from rewards.constants import TERMS
from rewards.trl_adapter import TermFunction, completion_text, prompt_text, read_truth
from tests.rewards.builders import FEAR, JOY, TRUTH, reply_text, times

SOLUTION = TRUTH.to_json()
PROMPT = [{"role": "user", "content": [{"type": "video"}, {"type": "text", "text": "Segment it."}]}]
REPLIES = [SOLUTION, times(0.0, 5.0, 9.0), "I cannot view videos.", ""]


def call(functions: list[TermFunction], **changed: Any) -> dict[str, list[float | None]]:
    """All functions on one batch, with the arguments TRL gives and the columns of our rows."""
    arguments: dict[str, Any] = {
        "prompts": [PROMPT] * len(REPLIES),
        "completions": REPLIES,
        "completion_ids": [[1] * 300, [1] * 1600, [1] * 7, []],
        "id": ["a", "a", "b", "b"],
        "video": ["a.mp4"] * 2 + ["b.mp4"] * 2,
        "solution": [SOLUTION] * len(REPLIES),
        "video_duration": [9.0] * len(REPLIES),
        "trainer_state": object(),
        "log_extra": lambda column, values: None,
        "log_metric": lambda name, value: None,
    }
    arguments.update(changed)
    return {function.__name__: function(**arguments) for function in functions}


@pytest.mark.parametrize("preset", ["paper", "hardened"])
def test_the_functions_return_what_score_returns(preset: str) -> None:
    rewards = RewardSet.from_preset(preset)
    got = call(rewards.trl_functions())
    assert tuple(got) == TERMS
    for index, (reply, num_tokens) in enumerate(zip(REPLIES, (300, 1600, 7, 0), strict=True)):
        scores = rewards.score(parse_reply(reply, 9.0, num_tokens), TRUTH)
        assert {name: got[name][index] for name in TERMS} == {n: scores[n] for n in TERMS}


def test_values_by_hand() -> None:
    got = call(RewardSet.from_preset("paper").trl_functions())
    # .7 + .3 * exp(-1) for 1,600 tokens; .3 for replies without a segment
    assert got["struct"] == pytest.approx([1.0, 0.8103638324, 0.3, 0.3])
    assert got["count"] == [1.0, 1.0, 0.0, 0.0]
    assert got["seg"] == pytest.approx([1.0, 0.4676676416, 0.0, 0.0])
    assert got["emo"] == [1.0, 1.0, 0.0, 0.0]
    assert got["reason"] == [1.0, 1.0, 0.0, 0.0]


def test_conversational_completions_are_the_same_as_strings() -> None:
    functions = RewardSet.from_preset("hardened").trl_functions()
    plain = call(functions)
    messages = [[{"role": "assistant", "content": reply}] for reply in REPLIES]
    parts = [
        [{"role": "assistant", "content": [{"type": "text", "text": reply}]}] for reply in REPLIES
    ]
    assert call(functions, completions=messages) == plain
    assert call(functions, completions=parts) == plain


def test_a_dropped_completion_is_none_in_all_terms_and_not_looked_at() -> None:
    functions = RewardSet.from_preset("paper").trl_functions()
    plain = call(functions)
    got = call(
        functions,
        dropped=[False, True, False, True],
        solution=[SOLUTION, None, SOLUTION, None],
    )
    for name in TERMS:
        assert got[name] == [plain[name][0], None, plain[name][2], None]
    assert call(functions, dropped=None) == plain


def test_each_completion_is_parsed_once_for_all_five(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = []

    def counted(text: str, *arguments: Any, **keywords: Any) -> Any:
        parsed.append(text)
        return parse_reply(text, *arguments, **keywords)

    monkeypatch.setattr(adapter, "parse_reply", counted)
    functions = RewardSet.from_preset("paper").trl_functions()
    call(functions)
    assert sorted(parsed) == sorted([SOLUTION, *REPLIES])  # one solution, four replies
    call(functions)
    assert len(parsed) == 5


def test_the_cache_is_bounded_and_holds_more_than_a_batch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(adapter, "_MIN_CACHED_COMPLETIONS", 3)
    functions = RewardSet.from_preset("paper").trl_functions()
    scorer = functions[0].scorer
    for start in range(0, 50, 10):
        call(
            functions,
            prompts=["p"] * 10,
            completions=[f"reply {number}" for number in range(start, start + 10)],
            completion_ids=[[1]] * 10,
            id=list(range(10)),
            solution=[SOLUTION] * 10,
            video_duration=[9.0] * 10,
        )
        assert len(scorer._scores) <= 20
    assert len(scorer._scores) == 20


def test_the_number_of_tokens_belongs_to_the_reply() -> None:
    struct = RewardSet.from_preset("paper").trl_functions()[0]
    same = {"prompts": ["p"] * 2, "solution": [SOLUTION] * 2, "video_duration": [9.0] * 2}
    got = struct(completions=[SOLUTION] * 2, completion_ids=[[1] * 300, [1] * 2400], **same)
    assert got == [1.0, 0.7]


def test_the_prompt_belongs_to_the_reply() -> None:
    copied = " ".join(f"joy sight{index}" for index in range(20))
    text = reply_text((0.0, 4.0, "Joy", copied), (4.0, 9.0, "Fear", FEAR))
    reason = RewardSet.from_preset("hardened").trl_functions()[4]
    got = reason(
        prompts=["Segment it.", f"Segment it. {copied}"],
        completions=[text] * 2,
        completion_ids=[[1]] * 2,
        solution=[SOLUTION] * 2,
        video_duration=[9.0] * 2,
    )
    assert got == [1.0, 0.5]


def test_functions_can_be_pickled_with_or_without_each_other() -> None:
    functions = RewardSet.from_preset("hardened", remove=("count",)).trl_functions()
    expected = call(functions)
    together = pickle.loads(pickle.dumps(functions))
    assert len({id(function.scorer) for function in together}) == 1
    assert len(together[0].scorer._scores) == 0
    assert call(together) == expected
    alone = [pickle.loads(pickle.dumps(function)) for function in functions]
    assert call(alone) == expected
    assert repr(alone[0]) == "TermFunction('struct', preset='hardened')"


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"solution": None}, "rows a to b have no column `solution`"),
        ({"video_duration": None}, "rows a to b have no column `video_duration`"),
        ({"solution": [SOLUTION, SOLUTION, None, SOLUTION]}, "row b: `solution` is missing"),
        ({"solution": [SOLUTION, " ", SOLUTION, SOLUTION]}, "row a: `solution` is missing"),
        ({"video_duration": [9.0, None, 9.0, 9.0]}, "row a: `video_duration` is missing"),
        ({"video_duration": [9.0, True, 9.0, 9.0]}, "row a: `video_duration` is missing"),
        ({"video_duration": [9.0, float("nan"), 9.0, 9.0]}, "row a: `video_duration` is nan"),
        ({"video_duration": [9.0, 9.0, 0.0, 9.0]}, "row b: `video_duration` is 0.0"),
        ({"solution": [SOLUTION] * 3}, "column `solution` has 3 values for 4 rows"),
        ({"solution": [SOLUTION, "{}", SOLUTION, SOLUTION]}, "row a: .*not a valid timeline"),
        ({"video_duration": [8.0] * 4}, "row a: .*not a valid timeline.*end"),
        ({"completions": [3] * 4}, "row a: a completion is a string or"),
        ({"completions": [[{"role": "assistant"}]] * 4}, "row a: a message has `content`"),
        ({"completion_ids": None}, "num_tokens"),
        ({"id": None, "solution": [None] * 4}, "row 0: `solution` is missing"),
    ],
)
def test_mistakes_name_the_row(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call(RewardSet.from_preset("paper").trl_functions(), **changed)


def test_a_truth_that_only_holds_as_released_data_still_earns_everything() -> None:
    # Ends .1 s early: outside .05, inside the .15 of the released data.
    solution = reply_text((0.0, 4.0, "Joy", JOY), (4.0, 8.9, "Fear", FEAR))
    assert parse_reply(solution, 9.0).timeline is None
    assert read_truth(solution, 9.0, "row a").tolerance_seconds == 0.15
    got = call(
        RewardSet.from_preset("hardened").trl_functions(),
        completions=[solution] * 4,
        solution=[solution] * 4,
    )
    assert {name: values[0] for name, values in got.items()} == dict.fromkeys(TERMS, 1.0)


def test_texts_of_prompts_and_completions() -> None:
    assert prompt_text("Segment it.") == "Segment it."
    assert prompt_text([{"role": "system", "content": "Be brief."}, *PROMPT]) == (
        "Be brief.\nSegment it."
    )
    assert completion_text([{"role": "assistant", "content": "{}"}]) == "{}"
    with pytest.raises(ValueError, match="one assistant message"):
        completion_text([{"content": "{}"}, {"content": "{}"}])
