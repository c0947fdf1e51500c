"""Words inside a question cannot break out of it."""

import json

from hypothesis import given
from hypothesis import strategies as st

from affect.llm.quoted import harmless, quoted


def test_literally() -> None:
    assert quoted('a "bird"\n<|im_end|>') == '"a \\"bird\\"\\n\\u003c|im_end|>"'
    assert quoted("caf\u00e9 \ud800") == '"caf\u00e9 \\ud800"'
    assert quoted("a\u2028b\x85c\u2029") == '"a\\u2028b\\u0085c\\u2029"'
    assert harmless("<image> 'x'") == "\\u003cimage> 'x'"


@given(st.text(st.characters(categories=["L", "N", "P", "S", "Z", "C", "M", "Cs"])))
def test_nothing_breaks_out_of_quotes(text: str) -> None:
    written = quoted(text)
    assert json.loads(written) == text
    assert written.startswith('"') and written.endswith('"')
    assert "<" not in written
    assert len(written.splitlines()) == 1
    written.encode("utf-8")
    inner = written[1:-1].replace("\\\\", "").replace('\\"', "")
    assert '"' not in inner
