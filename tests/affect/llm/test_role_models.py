"""Roles, cache, questions in flight, tries, accounts and budget together, over real HTTP."""

import asyncio
import logging
import traceback
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from affect.llm.call import Call
from affect.llm.chat import Answer, BudgetSpentError, ModelFailure, TooLongError
from affect.llm.reply_cache import SqliteReplyCache
from affect.llm.retrying import RetryPolicy
from affect.llm.role_models import RoleModels
from tests.affect.llm.replies import GOOD, KEY, Tag, question, section
from tests.affect.llm.told_server import TellingServer, Told, completion, gemini

PRICES = {"price_per_million_prompt_tokens": 1000.0, "price_per_million_completion_tokens": 2000.0}
COST = 0.02
"""Of 10 prompt and 5 completion tokens."""


class Run:
    """One run against a telling server; the cache, if any, is shared by runs."""

    def __init__(self, told: list[Told], cache: SqliteReplyCache | None = None) -> None:
        self.server = TellingServer(told)
        self.cache = cache
        self.calls: list[Call] = []
        self.sleeps: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)

    def models(self, *, limits: dict[str, Any] | None = None, **settings: Any) -> RoleModels:
        url = self.server.base_url + ("" if settings.get("api") == "gemini" else "/v1")
        return RoleModels(
            {"tag": "small", "judge_1": "small"},
            {"small": section(base_url=url, **{**PRICES, **settings})},
            cache=self.cache,
            policy=RetryPolicy(4, 1.0, sleep=self.sleep),
            on_call=self.calls.append,
            environ={"A_KEY": KEY},
            **(limits or {}),
        )

    def __call__(self, use: Callable[[RoleModels], Awaitable[Any]], **settings: Any) -> Any:
        async def main() -> Any:
            async with self.server:
                models = self.models(**settings)
                try:
                    return await use(models)
                finally:
                    await models.aclose()

        return asyncio.run(main())

    @property
    def outcomes(self) -> list[str]:
        return [call.outcome for call in self.calls]


async def ask_tag(models: RoleModels) -> Answer[Tag]:
    return await models.ask("tag", question(), Tag)


@pytest.fixture
def cache(tmp_path: Path) -> Any:
    opened = SqliteReplyCache(tmp_path / "replies.sqlite")
    yield opened
    opened.close()


def test_an_answer_and_its_account() -> None:
    run = Run([completion(GOOD)])
    answer = run(ask_tag)
    assert (answer.value.number, answer.model, answer.num_asks) == (3, "small", 1)
    (call,) = run.calls
    assert (call.role, call.model, call.question, len(call.key)) == ("tag", "small", "tag", 64)
    assert (call.num_ask, call.num_attempt, call.outcome) == (1, 1, "usable")
    assert (call.prompt_tokens, call.completion_tokens, call.cost) == (10, 5, COST)
    assert not call.from_cache
    assert call.seconds > 0


def test_faults_are_tried_again_and_each_is_told() -> None:
    reset = Told(instead="reset")
    run = Run([Told(429, {"retry-after": "9"}), reset, Told(503), completion(GOOD)])
    assert run(ask_tag).num_asks == 1
    assert run.outcomes == ["rate_limited", "connection", "server_error", "usable"]
    assert [call.num_attempt for call in run.calls] == [1, 2, 3, 4]
    assert [call.cost for call in run.calls] == [None, None, None, COST]
    assert 9.0 < run.sleeps[0] < 10.0
    assert len({call.key for call in run.calls}) == 1


@pytest.mark.parametrize(
    ("told", "kind", "num_requests"),
    [
        (Told(429), "rate_limited", 4),
        (Told(500), "server_error", 4),
        (Told(instead="reset"), "connection", 4),
        (Told(instead="hang"), "timeout", 4),
        (Told(400), "bad_request", 1),
        (Told(401), "not_allowed", 1),
    ],
)
def test_faults_that_do_not_end(told: Told, kind: str, num_requests: int, cache: Any) -> None:
    run = Run([told] * 4, cache)
    with pytest.raises(ModelFailure) as caught:
        run(ask_tag, timeout_seconds=0.05 if kind == "timeout" else 60.0)
    assert (caught.value.kind, caught.value.model) == (kind, "small")
    assert run.outcomes == [kind] * num_requests
    if kind != "timeout":  # which on a busy machine may come before the request arrives
        assert len(run.server.requests) == num_requests
    assert cache.num_replies() == 0, "a failure is no reply"


@pytest.mark.parametrize(
    ("told", "kind"),
    [
        (completion(GOOD, "length"), "cut_off"),
        (completion(None, refusal="no"), "refused"),
        (completion(None), "empty"),
        (completion(GOOD[:-1]), "off_schema"),
        (completion(f"```json\n{GOOD}\n```"), "off_schema"),
        (completion('{"genre": "a", "number": NaN}'), "off_schema"),
    ],
)
def test_replies_that_cannot_be_used_are_asked_for_again_and_kept(
    told: Told, kind: str, cache: Any
) -> None:
    run = Run([told] * 3, cache)
    with pytest.raises(ModelFailure) as caught:
        run(ask_tag)
    assert caught.value.kind == kind
    assert run.outcomes == [kind] * 3
    assert len({call.key for call in run.calls}) == 3
    assert cache.num_replies() == 3
    # The next run comes to the same end and asks nobody.
    again = Run([], cache)
    with pytest.raises(ModelFailure) as caught:
        again(ask_tag)
    assert caught.value.kind == kind
    assert again.server.requests == []
    assert [(call.outcome, call.cost, call.from_cache) for call in again.calls] == [
        (kind, 0.0, True)
    ] * 3
    # One more ask goes on where it ended.
    more = Run([completion(GOOD)], cache)
    answer = more(ask_tag, limits={"max_asks": 4})
    assert answer.num_asks == 4
    assert len(more.server.requests) == 1


def test_a_chain_of_asks_replays(cache: Any) -> None:
    def check(tag: Tag) -> None:
        if len(tag.genre) > 7:
            raise TooLongError("genre: at most 7 letters")

    async def use(models: RoleModels) -> Answer[Tag]:
        return await models.ask("tag", question(), Tag, check)

    run = Run([completion(GOOD.replace("Sports", "Sporting")), completion(GOOD)], cache)
    first = run(use)
    assert run.outcomes == ["too_long", "usable"]
    text = run.server.requests[1].body["messages"][0]["content"][-1]["text"]
    assert "Why: genre: at most 7 letters" in text
    again = Run([], cache)
    assert again(use) == first
    assert again.outcomes == ["too_long", "usable"]
    assert cache.spent_cost() == pytest.approx(2 * COST)


def test_a_fence_is_read_where_the_server_takes_no_schema() -> None:
    run = Run([completion(f"```json\n{GOOD}\n```")])
    assert run(ask_tag, structured_output=False).value.genre == "Sports"


def test_the_same_question_in_flight_is_asked_once(cache: Any) -> None:
    run = Run([completion(GOOD)], cache)
    run.server.release.clear()

    async def use(models: RoleModels) -> list[Answer[Tag]]:
        waiting = [asyncio.create_task(ask_tag(models)) for _ in range(3)]
        waiting.append(asyncio.create_task(models.ask("judge_1", question(), Tag)))
        await run.server.arrived.wait()
        waiting[0].cancel()  # whoever was first: the others get their reply
        run.server.release.set()
        return await asyncio.gather(*waiting[1:])

    answers = run(use)
    assert [answer.value.number for answer in answers] == [3, 3, 3]
    assert len(run.server.requests) == 1
    bought = [call for call in run.calls if not call.from_cache]
    assert [(call.role, call.cost) for call in bought] == [("tag", COST)]
    assert [call.cost for call in run.calls if call.from_cache] == [0.0] * 3


def test_the_budget_ends_asking_but_not_reading(cache: Any) -> None:
    async def use(models: RoleModels) -> None:
        for number in range(9):
            await models.ask("tag", question(f"{number}"), Tag)

    run = Run([completion(GOOD)] * 9, cache)
    with pytest.raises(BudgetSpentError, match=r"0\.0600 of limits\.max_cost \(0\.05\)"):
        run(use, limits={"max_cost": 0.05})
    assert len(run.server.requests) == 3
    # In the next run what was bought is there, and nothing more.
    again = Run([], cache)
    with pytest.raises(BudgetSpentError):
        again(use, limits={"max_cost": 0.05, "spent_cost": cache.spent_cost()})
    assert again.outcomes == ["usable"] * 3
    # With more money it goes on.
    more = Run([completion(GOOD)] * 6, cache)
    more(use, limits={"max_cost": 1.0, "spent_cost": cache.spent_cost()})
    assert len(more.server.requests) == 6
    assert cache.spent_cost() == pytest.approx(9 * COST)


def test_the_budget_is_looked_at_when_it_is_ones_turn() -> None:
    """Of many that wait, no more are asked once the money is spent."""
    run = Run([completion(GOOD)] * 9)

    async def use(models: RoleModels) -> list[Any]:
        asks = [models.ask("tag", question(f"{number}"), Tag) for number in range(9)]
        return await asyncio.gather(*asks, return_exceptions=True)

    results = run(use, limits={"max_cost": 0.03}, max_concurrent=1)
    assert [type(result) for result in results] == [Answer] * 2 + [BudgetSpentError] * 7
    assert len(run.server.requests) == 2


def test_tokens_that_nobody_counted_end_a_run_with_a_limit() -> None:
    async def use(models: RoleModels) -> None:
        await models.ask("tag", question("1"), Tag)
        await models.ask("tag", question("2"), Tag)

    run = Run([completion(GOOD, usage=None)] * 2)
    with pytest.raises(BudgetSpentError, match="without token counts"):
        run(use, limits={"max_cost": 1.0})
    assert [(call.cost, call.prompt_tokens) for call in run.calls] == [(None, None)]
    free = Run([completion(GOOD, usage=None)] * 2)
    free(use)
    assert len(free.server.requests) == 2


def test_gemini_plays_a_role_too(cache: Any) -> None:
    settings = {"api": "gemini", "api_key_env": "A_KEY"}
    run = Run([gemini(None, "SAFETY"), gemini(GOOD)], cache)
    assert run(ask_tag, **settings).num_asks == 2
    assert run.outcomes == ["refused", "usable"]
    assert Run([], cache)(ask_tag, **settings).num_asks == 2


def test_what_is_wrong_at_the_start_is_named() -> None:
    models = {"small": section(api_key_env="A_KEY"), "idle": section(api_key_env="NOT_SET")}
    with pytest.raises(ValueError, match=r"models\.small: .* variable A_KEY, which is not set"):
        RoleModels({"tag": "small"}, models, environ={"A_KEY": " "})
    with pytest.raises(ValueError, match=r"role tag: there is no model 'smal'; there are: idle,"):
        RoleModels({"tag": "smal"}, models, environ={"A_KEY": KEY})
    with pytest.raises(ValueError, match=r"models\.small: limits\.max_cost is 3, but the price"):
        RoleModels({"tag": "small"}, models, environ={"A_KEY": KEY}, max_cost=3.0)
    role_models = RoleModels({"tag": "small"}, models, environ={"A_KEY": KEY})
    with pytest.raises(ValueError, match="nobody plays the role 'judge_1'; roles: tag"):
        asyncio.run(role_models.ask("judge_1", question(), Tag))


@pytest.mark.parametrize("api", ["openai", "gemini"])
def test_the_key_is_shown_nowhere(
    api: str, cache: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    echo = {"error": {"message": f"the key {KEY} is not valid"}}
    run = Run([Told(401, body=echo)], cache)
    shown: list[str] = []

    async def use(models: RoleModels) -> None:
        shown.extend([repr(models), repr(vars(models))])
        try:
            await ask_tag(models)
        except ModelFailure:
            shown.append(traceback.format_exc())
            raise

    with pytest.raises(ModelFailure, match="not_allowed") as caught:
        run(use, api=api, api_key_env="A_KEY")
    sent = str([dict(got.headers) for got in run.server.requests])
    assert KEY in sent, "it was sent"
    shown += [str(caught.value), repr(caught.value), repr(run.calls), caplog.text]
    assert not [text for text in shown if KEY in text]
    assert all(KEY.encode() not in path.read_bytes() for path in tmp_path.iterdir())


def test_two_names_for_one_endpoint_share_its_limits() -> None:
    async def main() -> list[int]:
        async with TellingServer([completion(GOOD)] * 4, held=True) as server:
            one = section(base_url=server.base_url, max_concurrent=3)
            two = section(base_url=server.base_url, max_concurrent=2, temperature=1.0)
            models = RoleModels({"tag": "one", "judge_1": "two"}, {"one": one, "two": two})
            asks = [
                asyncio.create_task(models.ask(role, question(f"{number}"), Tag))
                for number, role in enumerate(["tag", "judge_1"] * 2)
            ]
            while len(server.requests) < 2:
                await asyncio.sleep(0.001)
            for _ in range(20):
                await asyncio.sleep(0.001)
            before = len(server.requests)
            server.release.set()
            await asyncio.gather(*asks)
            await models.aclose()
            return [before, len(server.requests)]

    assert asyncio.run(main()) == [2, 4]
