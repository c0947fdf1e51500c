"""Values read back from JSON, and what is said of a text that is none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from affect.frozen import Frozen


class Span(Frozen):
    start_seconds: float
    labels: tuple[str, ...] = ()


def test_values_are_read_back() -> None:
    spans = [Span(start_seconds=1.5, labels=("a", "b")), Span(start_seconds=0)]
    assert Span.from_json(spans[0].canonical_json()) == spans[0]
    assert Span.list_from_json(f"[{','.join(one.canonical_json() for one in spans)}]") == spans
    assert Span.list_from_json("[]") == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "the text: Invalid JSON"),
        ("", "the text: Invalid JSON"),
        ("[]", "the text: Input should be an object"),
        ("{}", "start_seconds: Field required"),
        ('{"start_seconds": NaN}', "start_seconds: Input should be a finite number"),
        ('{"start_seconds": 1, "strat": 2}', "strat: Extra inputs are not permitted"),
    ],
)
def test_a_fault_is_one_line_that_names_the_field(text: str, told: str) -> None:
    with pytest.raises(ValueError) as raised:
        Span.from_json(text)
    assert str(raised.value).startswith(told)
    with pytest.raises(ValueError) as raised_in_list:
        Span.list_from_json(f"[{text}]" if text else "{}")
    assert "\n" not in str(raised.value) + str(raised_in_list.value)


def test_a_list_says_which_of_its_values_is_wrong() -> None:
    with pytest.raises(ValueError, match=r"^1\.start_seconds: Field required$"):
        Span.list_from_json('[{"start_seconds": 1}, {}]')
    with pytest.raises(ValueError, match=r"^the text: Input should be a valid (list|array)"):
        Span.list_from_json("{}")


@given(st.text(max_size=30))
def test_any_text_is_read_or_refused_in_one_line(text: str) -> None:
    for read in (Span.from_json, Span.list_from_json):
        try:
            read(text)
        except ValueError as error:
            assert "\n" not in str(error).replace(text, "")
