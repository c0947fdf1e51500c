"""Export a run: the model folder, its card, and what a second export into the same place finds.

The folder appears whole under its name or not at all: it is written beside it and renamed when it
has been loaded back and compared.

Example: `export_run(find_source(run), run / "export", ExportOptions(), say=print)`
"""

import fcntl
import hashlib
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from affect.atomic import write_text_atomic
from affect.weights_hash import sha256_of_weights
from publish.base_model import find_base, license_of
from publish.card import render_card
from publish.processor_files import CARD_FILE, RECORD_FILE, foreign_files, missing_files
from publish.record import ExportOptions, ExportRecord, read_record
from publish.score_files import read_scores
from publish.source import Source

Say = Callable[[str], None]


def export_run(
    source: Source,
    out: Path,
    options: ExportOptions,
    *,
    say: Say,
    license_keys: Mapping[str, str] | None = None,
    overwrite: bool = False,
    device: str | None = None,
    adapter_base: str | None = None,
) -> ExportRecord:
    """Write the export of a run to `out`, or bring the card of the one that is there up to date.

    Args:
        say: told one line of what was done.
        license_keys: for the card's header; by default those of the base's own card, else "other".
        overwrite: replace an export that is there.
        device: to compare on; None for the first GPU, else the CPU.

    Raises:
        ValueError: see `find_source` and `write_model`; or `out` holds something else.
    """
    keys = license_keys or license_of(find_base(source.base))
    if out.exists() and not _may_be_replaced(out, overwrite):
        return _keep(source, out, options, keys, say)
    with _partial(out) as partial:
        say(f"exporting {source.checkpoint} to {out}")
        from publish.model_folder import write_model  # torch, for which a second export has no use

        record = write_model(source, partial, options, device=device, adapter_base=adapter_base)
        record = _write_card(source, partial, record, keys)
        wrong = missing_files(partial), foreign_files(partial)
        assert wrong == ([], []), f"missing and foreign files: {wrong}"
        _put_in_place(partial, out)
    if not record.base_names_compared:
        say(
            f"the base model {source.base} is not here, so tensor names were not compared with "
            "its own; say where it is with --base"
        )
    say(
        f"done: {out}; loaded back, logits differ by at most "
        f"{record.check.load_back_difference:.3g}"
    )
    return record


def _may_be_replaced(out: Path, overwrite: bool) -> bool:
    if not out.is_dir():
        raise ValueError(f"{out}: is a file; choose another --out")
    if not any(out.iterdir()):
        return True
    if not (out / RECORD_FILE).is_file():
        raise ValueError(f"{out}: is not empty and holds no export; choose another --out")
    return overwrite


def _keep(
    source: Source, out: Path, options: ExportOptions, keys: Mapping[str, str], say: Say
) -> ExportRecord:
    """The export that is there, if it is the one asked for; its card is brought up to date."""
    record = read_record(out)
    changed = []
    if record.source_sha256 != sha256_of_weights(source.checkpoint):
        changed.append("other weights")
    if record.options != options:
        changed.append("another precision or file size")
    if record.base != source.shown_base:
        changed.append("another base model")
    missing = missing_files(out)
    if missing:
        changed.append(f"no {missing[0]}")
    elif record.sha256 != sha256_of_weights(out):
        changed.append("weights that were changed since")
    if changed:
        raise ValueError(
            f"{out}: holds an export with {', '.join(changed)}; --overwrite replaces it"
        )
    say(f"{out} is done already")
    if _digest(out / CARD_FILE) != record.card_sha256:
        say(f"{out / CARD_FILE} was edited and is left as it is")
        return record
    if _card(source, record, keys) != (out / CARD_FILE).read_text(encoding="utf-8"):
        record = _write_card(source, out, record, keys)
        say(f"{out / CARD_FILE} was brought up to date")
    return record


def _card(source: Source, record: ExportRecord, keys: Mapping[str, str]) -> str:
    scores = read_scores(source.run, {record.source_sha256, record.sha256})
    return render_card(source, record, scores, license_keys=keys)


def _write_card(
    source: Source, folder: Path, record: ExportRecord, keys: Mapping[str, str]
) -> ExportRecord:
    write_text_atomic(folder / CARD_FILE, _card(source, record, keys))
    record = record.model_copy(update={"card_sha256": _digest(folder / CARD_FILE)})
    record.write(folder)
    return record


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@contextmanager
def _partial(out: Path) -> Iterator[Path]:
    """An empty folder beside `out`, which is gone afterwards unless it was renamed.

    One left by an export that was killed is emptied; one that is being written to is refused.
    """
    partial = out.with_name(f".{out.name}.partial")
    partial.mkdir(parents=True, exist_ok=True)
    handle = os.open(partial, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ValueError(f"{out}: another export is writing it") from None
        _empty(partial)
        try:
            yield partial
        finally:
            # Renamed, it is the export; otherwise half of one, whatever the reason.
            shutil.rmtree(partial, ignore_errors=True)
    finally:
        os.close(handle)


def _empty(folder: Path) -> None:
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def _put_in_place(partial: Path, out: Path) -> None:
    """`out` is the old export until it is the new one, but for the moment between two renames."""
    mode = (partial / RECORD_FILE).stat().st_mode
    for path in partial.iterdir():
        path.chmod(mode)  # the weights come readable for their owner only
        with path.open("rb") as file:
            os.fsync(file.fileno())
    if not out.exists() or not any(out.iterdir()):
        os.replace(partial, out)  # an empty folder is replaced too
        return
    old = out.with_name(f".{out.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    os.replace(out, old)
    try:
        os.replace(partial, out)
    except OSError:
        os.replace(old, out)
        raise
    shutil.rmtree(old)
