"""Our clients against scripted servers with faults: each kind alone, and all of them at once.

Nothing is lost (every question is answered as by a server without faults), nothing is counted twice
(calls, replies and cost agree with what the server wrote down), and every kind really came.
"""

import asyncio
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from affect.llm.call import Call
from affect.llm.chat import ModelFailure
from affect.llm.model_section import ModelSection
from affect.llm.reply_cache import SqliteReplyCache
from affect.llm.retrying import RetryPolicy
from affect.llm.role_models import RoleModels
from affect.llm.scripted.answered import Answered
from affect.llm.scripted.faults import FAULTS, LASTING_FAULTS, FaultPlan, kinds_for
from affect.llm.scripted.process import ScriptedServer
from tests.affect.llm.numbered_questions import ANSWERS, Reply, numbered_question, reply_type

APIS = ("openai", "gemini")
QUICK = RetryPolicy(max_attempts=6, max_backoff_seconds=0.1, first_backoff_seconds=0.02)
NUM_QUESTIONS = 200

KIND_OF = {
    "rate_limited": "rate_limited",
    "rate_limited_seconds": "rate_limited",
    "rate_limited_date": "rate_limited",
    "server_error": "server_error",
    "unavailable": "server_error",
    "hang": "timeout",
    "reset_before": "connection",
    "reset_within": "connection",
    "bad_request": "bad_request",
    "not_allowed": "not_allowed",
    "cut_off": "cut_off",
    "null_at_limit": "cut_off",
    "empty": "empty",
    "refused": "refused",
    "blocked": "refused",
    "fenced": "off_schema",
    "not_a_number": "off_schema",
    "wrong_schema": "off_schema",
    "unknown_key": "off_schema",
    "missing_key": "off_schema",
}
"""What a client must call each fault; `no_usage` is none to it."""
SERVERS_OWN = {"rate_limited", "server_error", "timeout", "connection"}
"""Kinds for which the same request is tried again; for the rest another one is asked."""


def test_the_table_has_every_fault() -> None:
    assert set(KIND_OF) == set(FAULTS) - {"no_usage"}


def section(server: ScriptedServer, model: str, **settings: Any) -> ModelSection:
    return ModelSection.model_validate(
        {
            "api": server.api,
            "base_url": server.base_url,
            "model": model,
            "api_key_env": "SCRIPTED_KEY",
            "price_per_million_prompt_tokens": 2.0,
            "price_per_million_completion_tokens": 10.0,
            **settings,
        }
    )


@dataclass(frozen=True)
class Outcome:
    reply: Reply | ModelFailure
    calls: list[Call]


async def ask_each_kind(server: ScriptedServer) -> dict[str, Outcome]:
    """One question to each of the models that are called like faults, at most twice each way."""
    outcomes: dict[str, Outcome] = {}

    async def ask(fault: str) -> None:
        timeout_seconds = 1.5 if fault == "hang" else 60.0
        calls: list[Call] = []
        models = RoleModels(
            {"judge": fault},
            {fault: section(server, fault, timeout_seconds=timeout_seconds)},
            max_asks=2,
            policy=RetryPolicy(2, max_backoff_seconds=0.1, first_backoff_seconds=0.02),
            on_call=calls.append,
            environ={"SCRIPTED_KEY": "secret"},
        )
        try:
            answer = await models.ask("judge", numbered_question(1), reply_type(1))
            outcomes[fault] = Outcome(answer.value, calls)
        except ModelFailure as failure:
            outcomes[fault] = Outcome(failure, calls)
        finally:
            await models.aclose()

    await asyncio.gather(*(ask(fault) for fault in FAULTS))
    return outcomes


@pytest.fixture(scope="module", params=APIS)
def lasting(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Each kind again and again: (outcomes, the server's log)."""
    folder = tmp_path_factory.mktemp("lasting")
    with ScriptedServer(request.param, ANSWERS, folder, by_model=True, most_in_a_row=0) as server:
        return asyncio.run(ask_each_kind(server)), server.answered()


@pytest.fixture(scope="module", params=APIS)
def passing(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Each kind once, and then the answer."""
    folder = tmp_path_factory.mktemp("passing")
    with ScriptedServer(request.param, ANSWERS, folder, by_model=True, most_in_a_row=1) as server:
        return asyncio.run(ask_each_kind(server)), server.answered()


@pytest.mark.parametrize("fault", KIND_OF)
def test_a_fault_that_lasts_is_a_failure_with_its_name(lasting: Any, fault: str) -> None:
    outcomes, log = lasting
    failure, kind = outcomes[fault].reply, KIND_OF[fault]
    assert isinstance(failure, ModelFailure)
    assert failure.kind == kind and failure.model == fault
    assert "secret" not in str(failure)
    assert [call.outcome for call in outcomes[fault].calls] == [kind] * (
        1 if fault in LASTING_FAULTS else 2
    )
    lines = [line for line in log if line.model == fault]
    assert [line.fault for line in lines] == [fault] * len(outcomes[fault].calls)


@pytest.mark.slow
@pytest.mark.parametrize("fault", [fault for fault in KIND_OF if fault not in LASTING_FAULTS])
def test_a_fault_that_passes_is_got_over(passing: Any, fault: str) -> None:
    """A server's fault by trying again, a reply's by asking again."""
    outcomes, log = passing
    reply, calls = outcomes[fault].reply, outcomes[fault].calls
    assert not isinstance(reply, ModelFailure) and reply.number == 1
    assert [call.outcome for call in calls] == [KIND_OF[fault], "usable"]
    is_same_request = KIND_OF[fault] in SERVERS_OWN
    assert (calls[0].key == calls[1].key) == is_same_request
    assert [call.num_ask for call in calls] == [1, 1 if is_same_request else 2]
    assert [line.fault for line in log if line.model == fault] == [fault, None]


def test_a_reply_without_token_counts_is_used_and_its_cost_not_known(lasting: Any) -> None:
    outcomes, _ = lasting
    (call,) = outcomes["no_usage"].calls
    assert outcomes["no_usage"].reply.number == 1
    assert (call.outcome, call.prompt_tokens, call.cost) == ("usable", None, None)


async def ask_all(
    server: ScriptedServer, folder: Path, cache: SqliteReplyCache, calls: list[Call]
) -> tuple[dict[int, Reply], float]:
    """All questions, 16 at once: their replies by number, and what was spent."""
    media = "video_url" if server.api == "openai" else "files"
    models = RoleModels(
        {"any": "small"},
        {"small": section(server, "small", media=media, timeout_seconds=5.0, max_concurrent=16)},
        cache=cache,
        policy=QUICK,
        on_call=calls.append,
        environ={"SCRIPTED_KEY": "secret"},
    )
    replies: dict[int, Reply] = {}

    async def ask(number: int) -> None:
        answer = await models.ask("any", numbered_question(number, folder), reply_type(number))
        replies[number] = answer.value

    await asyncio.gather(*(ask(number) for number in range(NUM_QUESTIONS)))
    await models.aclose()
    return replies, models.spent_cost


def seed_with_every_kind(digests: list[str]) -> int:
    """The first seed with which each kind comes at the first request already."""
    kinds = kinds_for(is_json=True)
    for seed in range(10_000):
        plan = FaultPlan(0.3, seed)
        if {plan.fault(digest, 0, kinds) for digest in digests} >= set(kinds):
            return seed
    raise AssertionError("no seed brings every kind")


@pytest.mark.slow
@pytest.mark.parametrize("api", APIS)
def test_thirty_percent_faults_on_two_hundred_questions(api: str, tmp_path: Path) -> None:
    clips = tmp_path / "clips"
    clips.mkdir()
    cache = SqliteReplyCache(tmp_path / "clean.sqlite")
    with ScriptedServer(api, ANSWERS, tmp_path / "clean") as server:
        expected, _ = asyncio.run(ask_all(server, clips, cache, []))
    cache.close()
    asked = [line for line in server.answered() if line.operation == "reply"]
    assert len(asked) == len({line.digest for line in asked}) == NUM_QUESTIONS
    assert [expected[number].number for number in range(NUM_QUESTIONS)] == list(range(200))

    seed = seed_with_every_kind([line.digest for line in asked])
    cache = SqliteReplyCache(tmp_path / "faulty.sqlite")
    calls: list[Call] = []
    with ScriptedServer(api, ANSWERS, tmp_path / "faulty", faults=0.3, seed=seed) as server:
        replies, spent = asyncio.run(ask_all(server, clips, cache, calls))
        log = server.answered()
        again, spent_again = asyncio.run(ask_all(server, clips, cache, []))
        new = server.answered()[len(log) :]
    cache.close()
    assert replies == again == expected
    check_accounts(log, calls, spent)
    # Uploads too are for questions that are asked: a finished run asks nobody anything.
    assert (new, spent_again) == ([], 0.0)


def check_accounts(log: list[Answered], calls: list[Call], spent: float) -> None:
    """The clients' books against the server's."""
    assert {line.fault for line in log if line.operation == "reply"} == {None, *kinds_for(True)}
    hit = [line for line in log if line.operation == "reply" and line.times == 0 and line.fault]
    assert 40 <= len(hit) <= 80  # 30 % of 200
    right = [line for line in log if line.is_paid and line.fault in {None, "no_usage"}]
    answered = Counter(line.digest for line in right)
    assert len(answered) == NUM_QUESTIONS and set(answered.values()) == {1}

    assert not any(call.from_cache for call in calls)
    usable = [call for call in calls if call.outcome == "usable"]
    assert len(usable) == len({call.key for call in usable}) == NUM_QUESTIONS
    outcomes = Counter(call.outcome for call in calls)
    faults = Counter(KIND_OF[line.fault] for line in log if line.fault not in {None, "no_usage"})
    assert outcomes == faults + Counter(usable=NUM_QUESTIONS)

    paid = [line for line in log if line.is_paid]
    bought = [call for call in calls if call.outcome not in SERVERS_OWN]
    assert Counter((call.prompt_tokens, call.completion_tokens) for call in bought) == Counter(
        (line.prompt_tokens, line.completion_tokens) for line in paid
    )
    counted = [line for line in paid if line.prompt_tokens is not None]
    cost = sum(2.0 * line.prompt_tokens + 10.0 * line.completion_tokens for line in counted) / 1e6
    assert spent == pytest.approx(cost, rel=1e-9)
    assert sum(call.cost or 0.0 for call in calls) == pytest.approx(cost, rel=1e-9)
