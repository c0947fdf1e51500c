"""pushed.json of a run: which export lies where on a hub, written when the hub has confirmed it.

    {"repo_id": "me/dar-3b", "url": "https://...", "commit": "4f1c...", "sha256": "90ab...",
     "pushed_at": "2026-11-30T00:17:43+00:00"}

Example: `is_pushed(RunFolder(Path("runs/mine/grpo")), "me/dar-3b")`
"""

import json
from datetime import UTC, datetime

from affect.run_folder import RunFolder, write_json
from publish.hub import Pushed
from publish.record import read_record


def write_pushed(run: RunFolder, pushed: Pushed, sha256: str) -> None:
    """Note down a push; `sha256` is that of the exported weights."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    where = {"repo_id": pushed.repo_id, "url": pushed.url, "commit": pushed.commit}
    write_json(run.pushed, {**where, "sha256": sha256, "pushed_at": now})


def is_pushed(run: RunFolder, repo_id: str) -> bool:
    """Whether the export that lies in RUN/export is what was pushed to this repository last."""
    try:
        pushed = json.loads(run.pushed.read_text(encoding="utf-8"))
        sha256 = read_record(run.export).sha256
    except (OSError, ValueError):
        return False  # nothing says so, and a push of what is there already changes nothing
    return isinstance(pushed, dict) and (pushed.get("repo_id"), pushed.get("sha256")) == (
        repo_id,
        sha256,
    )
