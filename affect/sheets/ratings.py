"""Reading the raters' tables back: strictly, so that no rating is lost, doubled or made up.

ratings = read_ratings(FORM, SheetKey.read(Path("sheets")), Path("sheets"))
ratings.ratings["boundary"]["expert_1"]["v3f9a1c60d2e4-s1"]     # 4, or None if left open
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic

from affect.sheets.form import Form
from affect.sheets.items import Item, SheetKey
from affect.sheets.sheet_csv import read_csv


@dataclass(frozen=True)
class ExpertRatings(Generic[Item]):
    """All that was read back. ratings: question -> expert -> item id -> rating or None; every
    expert has every item. comments: (expert, item id, text) where one was written."""

    experts: tuple[str, ...]
    items: tuple[Item, ...]
    ratings: Mapping[str, Mapping[str, Mapping[str, int | None]]]
    comments: tuple[tuple[str, str, str], ...]

    def of_item(self, question: str, item_id: str) -> list[int | None]:
        """One rating per expert, in the order of `experts`."""
        by_expert = self.ratings[question]
        return [by_expert[expert][item_id] for expert in self.experts]

    def num_missing(self) -> dict[str, int]:
        """Expert -> ratings not given."""
        return {
            expert: sum(
                rating is None
                for by_expert in self.ratings.values()
                for rating in by_expert[expert].values()
            )
            for expert in self.experts
        }


def read_ratings(
    form: Form, key: SheetKey[Item], sheets_dir: Path, files: Sequence[Path] = ()
) -> ExpertRatings[Item]:
    """The ratings of all experts; files: one table each, by default those in `sheets_dir`.

    Raises ValueError naming file, line and field for whatever is not as it was written, except
    ratings and comments: an unknown item, one that is missing or stands twice, a table that is not
    one expert's, a rating beyond the scale.
    """
    paths = list(files) or [sheets_dir / f"{expert}.csv" for expert in key.experts]
    ratings: dict[str, dict[str, dict[str, int | None]]] = {name: {} for name in form.questions}
    comments: list[tuple[str, str, str]] = []
    path_of: dict[str, Path] = {}
    for path in paths:
        expert = _read_expert(form, path, key, ratings, comments)
        if expert in path_of:
            raise ValueError(f"{path}:2: expert: {path_of[expert]} is a table of {expert} too")
        path_of[expert] = path
    absent = [expert for expert in key.experts if expert not in path_of]
    if absent:
        raise ValueError(
            f"{sheets_dir}: no table of {', '.join(absent)} was given; of an expert who rated "
            "nothing give the table as it was written"
        )
    return ExpertRatings(key.experts, key.items, ratings, tuple(sorted(comments)))


def _read_expert(
    form: Form,
    path: Path,
    key: SheetKey[Item],
    ratings: dict[str, dict[str, dict[str, int | None]]],
    comments: list[tuple[str, str, str]],
) -> str:
    if not path.is_file():
        raise ValueError(f"{path}: there is no such file; an expert's table is needed")
    known = {item.id for item in key.items}
    line_of: dict[str, int] = {}
    expert = None
    for line, rated in read_csv(form, path):
        where = f"{path}:{line}"
        if rated.expert not in key.experts:
            raise ValueError(f"{where}: expert: {rated.expert[:40]!r} was given no sheet")
        if expert is None:
            expert = rated.expert
        if rated.expert != expert:
            raise ValueError(f"{where}: expert: {rated.expert!r} in a table of {expert!r}")
        if rated.item not in known:
            raise ValueError(f"{where}: item: {rated.item[:40]!r} stands on no sheet")
        if rated.item in line_of:
            raise ValueError(
                f"{where}: item: {rated.item!r} stands already on line {line_of[rated.item]}"
            )
        line_of[rated.item] = line
        if rated.comment:
            comments.append((expert, rated.item, rated.comment))
        for name, rating in rated.ratings.items():
            ratings[name].setdefault(expert, {})[rated.item] = rating
    missing = [item.id for item in key.items if item.id not in line_of]
    if expert is None or missing:
        raise ValueError(
            f"{path}: item: {len(missing)} of {len(key.items)} items are missing, the first is "
            f"{missing[0]!r}; leave ratings empty, but keep the lines"
        )
    return expert
