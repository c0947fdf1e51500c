"""What a process says it is doing."""

import threading
import time

import pytest

from train.stages import begin, current, end, in_stage, note_progress, note_rows, note_step, stage


def test_stages_nest_and_end_with_their_block() -> None:
    before = current().names
    with stage("evaluation", ["a"]):
        with pytest.raises(KeyError), stage("decode", ["b", "c"]):
            assert current().names == (*before, "evaluation", "decode")
            assert current().rows == ("b", "c")
            raise KeyError
        assert current().names == (*before, "evaluation")
        assert current().rows == ("b", "c")  # read last
    assert current().names == before


def test_begin_and_end_without_a_block() -> None:
    before = current().names
    begin("optimizer step")
    begin("left open")
    assert current().names == (*before, "optimizer step", "left open")
    end("optimizer step")
    assert current().names == before
    end("optimizer step")
    assert current().names == before
    with stage("outer"):
        begin("left open")
    assert current().names == before


def test_every_mark_is_progress() -> None:
    for mark in (lambda: note_rows(["a", "a"]), lambda: note_step(3), note_progress):
        seconds = current().since_seconds
        time.sleep(0.002)
        mark()
        assert seconds < current().since_seconds <= time.monotonic()
    assert (current().rows, current().step) == (("a",), 3)


def test_a_decorated_function_is_a_stage() -> None:
    @in_stage("rewards")
    def names(prefix: str, *, suffix: str = "") -> str:
        """Its text."""
        return prefix + current().names[-1] + suffix

    assert names("<", suffix=">") == "<rewards>"
    assert (names.__name__, names.__doc__) == ("names", "Its text.")


def test_other_threads_leave_the_marks_alone() -> None:
    seen = []

    def work() -> None:
        with stage("decode"):
            seen.append(current().names)

    before = current()
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [before.names] and current() == before


def test_as_text() -> None:
    note_step(12)
    with stage("sampling"), stage("rewards"):
        assert str(current()) == "rewards (in sampling), step 12"
