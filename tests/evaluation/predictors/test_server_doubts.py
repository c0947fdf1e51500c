"""Whose fault a failure is: held back, cleared, or the end."""

import pytest

from affect.llm.chat import FailureKind, ModelFailure
from evaluation.predictors.server_doubts import (
    MAX_FAILURES_IN_A_ROW,
    ServerDoubts,
    ServerGoneError,
)


def failure(kind: FailureKind) -> ModelFailure:
    return ModelFailure(kind, "endpoint", f"segment: {kind} it was")


def doubts() -> ServerDoubts:
    return ServerDoubts("m at h:1")


@pytest.mark.parametrize("kind", ["rate_limited", "bad_request", "refused"])
def test_a_rows_own_failure_is_written_at_once(kind: FailureKind) -> None:
    asked = doubts()
    answers = asked.failed("a", failure(kind))
    assert {name: answer.error for name, answer in answers.items()} == {
        "a": f"{kind}: segment: {kind} it was"
    }


@pytest.mark.parametrize("kind", ["not_allowed", "not_found"])
def test_nobody_let_in_before_the_first_reply_is_the_end(kind: FailureKind) -> None:
    with pytest.raises(ServerGoneError, match=f"^m at h:1: {kind}: segment: {kind} it was; "):
        doubts().failed("a", failure(kind))


@pytest.mark.parametrize(
    "kind", ["not_allowed", "not_found", "connection", "timeout", "server_error"]
)
def test_later_it_may_be_one_rows_until_there_are_too_many(kind: FailureKind) -> None:
    asked = doubts()
    assert asked.replied() == {}
    for number in range(MAX_FAILURES_IN_A_ROW - 1):
        assert asked.failed(f"a{number}", failure(kind)) == {}
    assert len(asked.replied()) == MAX_FAILURES_IN_A_ROW - 1
    assert asked.replied() == {}
    for number in range(MAX_FAILURES_IN_A_ROW - 1):
        assert asked.failed(f"b{number}", failure(kind)) == {}
    with pytest.raises(ServerGoneError, match="8 rows in a row failed, the last with"):
        asked.failed("last", failure(kind))


def test_another_failure_shows_that_the_server_is_there() -> None:
    asked = doubts()
    assert asked.failed("a", failure("connection")) == {}
    assert set(asked.failed("b", failure("rate_limited"))) == {"a", "b"}


def test_the_end_without_any_reply() -> None:
    asked = doubts()
    asked.failed("a", failure("connection"))
    with pytest.raises(ServerGoneError, match="connection"):
        asked.end()
    asked = doubts()
    asked.replied()
    asked.failed("a", failure("connection"))
    assert set(asked.end()) == {"a"}
    assert asked.end() == {}
