"""The examples in the docstrings give what they say."""

import doctest
import importlib

import pytest


@pytest.mark.parametrize("name", ["grammar", "reasons", "plan", "drawing", "rows"])
def test_docstring_examples(name):
    results = doctest.testmod(importlib.import_module(f"data_prep.rendered.{name}"))
    assert results.attempted > 0
    assert results.failed == 0
