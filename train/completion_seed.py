"""The seed of each completion: the same for any number of processes, micro-batch or resume.

Example: completion_seed(run.seed, trainer.state.global_step, seed_id(row), sample=3)
"""

import hashlib
from collections.abc import Mapping
from typing import Any


def seed_id(row: Mapping[str, Any]) -> str:
    """Whose seed: a replacement may be in the batch for itself too, and is sampled anew."""
    return row.get("replaces") or str(row["id"])


def completion_seed(seed: int, step: int, row_id: str, sample: int) -> int:
    """The seed of one completion, in [0, 2**63): the same however rows are spread over processes.

    Args:
        step: optimizer steps done before this sampling. sample: place within the group, from 0.
    """
    key = f"{seed}/{step}/{row_id}/{sample}".encode()
    return int.from_bytes(hashlib.sha256(key).digest()[:8], "big") >> 1
