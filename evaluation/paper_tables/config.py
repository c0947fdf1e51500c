"""Configuration of the tables: which runs, under which labels and protocol, in which tables.

    protocol: strict
    judge: judge_paper.gpt-4o
    base: SFT
    groups:
      - title: Ours
        systems:
          - {label: SFT, run: runs/demo/sft}
          - {label: GRPO, run: [runs/seed0/grpo, runs/seed1/grpo], tsl: tsl}

Example: `load_config(TablesConfig, Path("configs/tables/demo.yaml"))`
"""

from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from affect.config import Section

TableNumber = Literal[2, 3, 5, 6, 7]
TABLE_NUMBERS: tuple[TableNumber, ...] = (2, 3, 5, 6, 7)
ProtocolName = Literal["strict", "paper", "released"]


class SystemSection(Section):
    """One line of the tables."""

    label: str = Field(min_length=1, description="How the system is called in the tables.")
    run: tuple[Path, ...] = Field(
        min_length=1, description="Its run folder, or a list of runs that differ in their seed."
    )
    name: str | None = Field(None, description="Of its predictions, if not the tables' own name.")
    tsl: str | None = Field(None, description="Of its scores on TSL-300 (RUN/tsl300/NAME.json).")

    @field_validator("run", mode="before")
    @classmethod
    def _one_or_many(cls, value: Any) -> Any:
        return [value] if isinstance(value, str | Path) else value


class GroupSection(Section):
    """Systems under one heading."""

    title: str = Field("", description="The heading; empty for none.")
    tables: tuple[TableNumber, ...] = Field(
        (), description="Tables that show this group; empty for all."
    )
    systems: tuple[SystemSection, ...] = Field(min_length=1, description="In their order.")


class TablesConfig(Section):
    """What `python -m evaluation.paper_tables` makes."""

    title: str = Field("", description="Stands in front of each caption.")
    tables: tuple[TableNumber, ...] = Field(
        (), description="Of 2, 3, 5, 6, 7; empty for those that there is something to show in."
    )
    protocol: ProtocolName = Field(
        "strict", description="Under which SC-Acc, mIoU and Emo-Acc are computed."
    )
    name: str = Field("test", description="Of the predictions of each run.")
    judge: str | None = Field(
        None, description="Whose scores table 2 and 5 show; may be left away where all have one."
    )
    human: Path | None = Field(None, description="Results of a human evaluation, for table 3.")
    base: str | None = Field(None, description="Label that the others are compared with.")
    rows: Path | None = Field(None, description="The rows answered, if no longer where they were.")
    replicates: int = Field(2000, ge=1, description="Bootstrap draws behind the intervals.")
    seed: int = Field(0, ge=0, description="Of the bootstrap.")
    out: Path | None = Field(None, description="Folder that gets tableN.md, .tex and .json.")
    groups: tuple[GroupSection, ...] = Field(min_length=1, description="In their order.")

    @model_validator(mode="after")
    def _labels_differ(self) -> Self:
        labels = [system.label for group in self.groups for system in group.systems]
        twice = [label for label in labels if labels.count(label) > 1]
        if twice:
            raise ValueError(
                f"two systems are called {twice[0]!r}; list runs that differ in their seed under "
                "one label: run: [A, B]"
            )
        if self.base is not None and self.base not in labels:
            raise ValueError(f"base: no system is called {self.base!r}; there are {labels}")
        return self
