"""Text from files stays text: no name, path or setting becomes markup of the card."""

import re

from hypothesis import given
from hypothesis import strategies as st

from publish.markup import block, code, plain, table

MARKUP = st.text(st.sampled_from(list("ab \\`*_[]()|~#!<>&:\n\r\t\x00\u202e\u2028é")), max_size=20)


def test_by_hand() -> None:
    assert plain("a|b <img src=x> & `c`") == r"a\|b &lt;img src=x&gt; &amp; \`c\`"
    assert plain("![x](http://e) _b_ **c** ~~d~~") == (
        r"\!\[x\](http\://e) \_b\_ \*\*c\*\* \~\~d\~\~"
    )
    assert plain("a\n\n# b\u202e") == r"a \# b"
    assert code("runs/x") == "`runs/x`"
    assert code("x`y") == "``x`y``"
    assert code("`x") == "`` `x ``"
    assert code("") == "`  `"
    assert code("a|b\nc") == r"`a\|b c`"
    assert block("a: 1\n", "yaml") == "```yaml\na: 1\n```"
    assert block("a\n````\nb") == "`````\na\n````\nb\n`````"
    assert table(("x", "y"), [("1", "2")]) == "| x | y |\n| --- | --- |\n| 1 | 2 |"


@given(MARKUP)
def test_plain_text_holds_no_markup(text: str) -> None:
    shown = plain(text)
    assert "<" not in shown and ">" not in shown and "\n" not in shown
    # Each special character has a backslash of its own before it.
    assert not re.search(r"[`*_\[\]|~#!:@]", re.sub(r"\\.", "", shown))


@given(MARKUP)
def test_a_code_span_ends_where_it_should(text: str) -> None:
    shown = code(text).replace(r"\|", "|")
    fence = re.match("`+", shown)
    assert fence and shown.endswith(fence[0]) and "\n" not in shown
    inside = shown[len(fence[0]) : -len(fence[0])]
    assert all(len(run) != len(fence[0]) for run in re.findall("`+", inside))


@given(MARKUP)
def test_a_block_ends_where_it_should(text: str) -> None:
    lines = block(text).split("\n")
    assert lines[0] == lines[-1] and set(lines[0]) == {"`"}
    assert not any(line.strip().startswith(lines[0]) for line in lines[1:-1])
