"""Orders of experts, and draws that depend on nothing but their names."""

from pathlib import Path

import pytest

from affect.sheets.items import SheetItem, SheetKey, drawn_place, expert_names, orders
from tests.affect.sheets.forms import make_line


def test_names() -> None:
    assert expert_names(2) == ("expert_1", "expert_2")
    with pytest.raises(ValueError, match="experts: 1 or more are needed, not 0"):
        expert_names(0)


def test_orders_keep_a_videos_items_as_they_are_given() -> None:
    items = [make_line(n, video=video).item for video in "abcd" for n in (1, 0)]
    given = orders(items, expert_names(4), seed=0)
    for ordered in given.values():
        assert sorted(item.row_id for item in ordered) == sorted(item.row_id for item in items)
        assert [item.segment for item in ordered] == [1, 0] * 4
    assert len({tuple(item.row_id for item in ordered) for ordered in given.values()}) == 4


def test_draws() -> None:
    assert drawn_place(0, "a") == drawn_place(0, "a") != drawn_place(1, "a")
    assert drawn_place("\ud800")


def test_a_key_is_read_back(tmp_path: Path) -> None:
    key = SheetKey[SheetItem](experts=("expert_1",), seed=3, items=(make_line(0).item,))
    (tmp_path / "key.json").write_text(key.canonical_json())
    assert SheetKey[SheetItem].read(tmp_path) == key
    (tmp_path / "key.json").write_text('{"experts": []}')
    one_line = r"key\.json: not the key of these sheets: seed: Field required$"
    with pytest.raises(ValueError, match=one_line):
        SheetKey[SheetItem].read(tmp_path)
