"""Cores are counted as allowed where that is known, and as there are elsewhere."""

import os

import pytest

from affect.usable_cores import num_usable_cores


def test_what_is_allowed_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {1, 4, 5}, raising=False)
    assert num_usable_cores() == 3


@pytest.mark.parametrize(("told", "counted"), [(8, 8), (None, 1)])
def test_a_system_that_does_not_say(
    monkeypatch: pytest.MonkeyPatch, told: int | None, counted: int
) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: told)
    assert num_usable_cores() == counted
