"""One line for what a user can mend, a traceback for what nobody expected."""

import numpy as np

from affect.timeline import Timeline
from train.user_error import is_users_mistake


def raised(action: object) -> ValueError:
    try:
        action()  # type: ignore[operator]
    except ValueError as error:
        return error
    raise AssertionError("nothing was raised")


def test_our_own_error_is_the_users() -> None:
    assert is_users_mistake(raised(lambda: Timeline((), 9.0)))


def test_a_librarys_error_is_not() -> None:
    assert not is_users_mistake(raised(lambda: np.zeros(3).reshape(2)))
    assert not is_users_mistake(raised(lambda: int("seven")))


def test_an_error_that_was_never_raised_has_no_place() -> None:
    assert not is_users_mistake(ValueError("made, not raised"))
