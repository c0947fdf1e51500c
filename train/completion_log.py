"""Every step's completions on disk, for machines (JSONL) and for people (a text table).

    completions/step_000012.jsonl   one line per completion:
        {"step": 12, "id": "train/00012", "sample": 3, "replaces": null, "text": "...",
         "num_tokens": 131, "finished": true, "dropped": false, "struct": 1.0, ..., "reward": 0.71,
         "advantage": 0.4}
    completions/step_000012.txt     the first rows as a table

`replaces` is the id of a row whose clip could not be read and whose place this one took. A reward
that was not given is null, never 0.
"""

import io
import math
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from accelerate.utils import gather_object
from rich.console import Console
from rich.table import Table
from rich.text import Text

from affect.atomic import write_text_atomic
from affect.jsonl import write_jsonl_atomic


class CompletionLog:
    """Writes to `folder`; only the main process does, the others send it their rows."""

    def __init__(self, folder: Path, max_table_rows: int, report_to: Sequence[str] = ()) -> None:
        self.folder = folder
        self.max_table_rows = max_table_rows
        self.report_to = tuple(report_to)
        self._records: list[dict[str, Any]] = []
        self._step = -1

    def write(
        self,
        accelerator: Any,
        *,
        step: int,
        rows: Sequence[dict[str, Any]],
        completions: Sequence[Any],
        dropped: Sequence[bool],
        term_names: Sequence[str],
        terms: Sequence[Sequence[float]],
        weights: Sequence[float],
        advantages: Sequence[float],
    ) -> None:
        """Record one sampling of all processes under `step`, the update it is used for."""
        sample_of: dict[tuple[str, str | None], int] = {}
        records: list[dict[str, Any]] = []
        for row, completion, is_dropped, values, advantage in zip(
            rows, completions, dropped, terms, advantages, strict=True
        ):
            # A row that replaces another may be in the batch for itself, too.
            group = (row["id"], row.get("replaces"))
            sample = sample_of.get(group, 0)
            sample_of[group] = sample + 1
            scored = {
                name: None if math.isnan(value) else value
                for name, value in zip(term_names, values, strict=True)
            }
            known = [
                weight * value
                for weight, value in zip(weights, scored.values(), strict=True)
                if value is not None
            ]
            records.append(
                {
                    "step": step,
                    "id": row["id"],
                    "sample": sample,
                    "replaces": row.get("replaces"),
                    "text": completion.text,
                    "num_tokens": len(completion.token_ids),
                    "finished": completion.finished,
                    "dropped": is_dropped,
                    **scored,
                    "reward": sum(known) if known else None,
                    "advantage": advantage,
                }
            )
        records = gather_object(records)
        if not accelerator.is_main_process:
            return
        self._records = [*self._records, *records] if step == self._step else records
        self._step = step
        stem = self.folder / f"step_{step:06d}"
        write_jsonl_atomic(stem.with_suffix(".jsonl"), self._records)
        if self.max_table_rows:
            table = completion_table(self._records[: self.max_table_rows], term_names)
            write_text_atomic(stem.with_suffix(".txt"), table)
        if "wandb" in self.report_to:
            self._send_to_wandb(self._records, term_names)

    def _send_to_wandb(self, records: Sequence[dict[str, Any]], terms: Sequence[str]) -> None:
        import wandb

        if wandb.run is None:
            return
        columns: list[str | int] = ["step", "id", "sample", *terms, "reward", "advantage"]
        columns += ["num_tokens", "text"]
        table = wandb.Table(columns=columns)
        for record in records[: max(self.max_table_rows, 1)]:
            table.add_data(*(record[str(column)] for column in columns))
        wandb.log({"completions": table}, commit=False)


def completion_table(records: Sequence[dict[str, Any]], term_names: Sequence[str]) -> str:
    """The records as a plain text table of 140 columns; replies are shown as text, unmarked."""
    table = Table(title=f"step {records[0]['step']}" if records else None, show_lines=True)
    table.add_column("row")
    for name in (*term_names, "reward", "adv"):
        table.add_column(name, justify="right")
    table.add_column("tokens", justify="right")
    table.add_column("reply", overflow="fold", ratio=1)
    for record in records:
        numbers = [record[name] for name in (*term_names, "reward", "advantage")]
        tokens = f"{record['num_tokens']}{'' if record['finished'] else ' cut'}"
        table.add_row(
            Text(_printable(f"{record['id']} #{record['sample']}")),
            *("-" if number is None else f"{number:.2f}" for number in numbers),
            Text(tokens + (" dropped" if record["dropped"] else "")),
            Text(_printable(record["text"])),
        )
    buffer = io.StringIO()
    Console(file=buffer, width=140, color_system=None).print(table)
    return buffer.getvalue()


def _printable(text: str) -> str:
    """Control characters as the replacement character: a reply can't recolour a terminal."""
    return "".join(
        "\ufffd" if mark not in "\n\t" and unicodedata.category(mark) in ("Cc", "Cs") else mark
        for mark in text
    )
