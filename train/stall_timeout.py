"""How long a run may stand still, and torch's own limit, which must not speak first.

Example: collective_timeout_seconds(1800.0)  # 1920.0, for `trainer.ddp_timeout`
"""

STALL_TIMEOUT_SECONDS = 1800.0
"""Default: what torch allows a collective. A large checkpoint or a first compilation takes less."""

_COLLECTIVES_LATER_SECONDS = 120.0
"""So much later torch ends a collective: our message, which names stages, comes first."""


def collective_timeout_seconds(stall_timeout_seconds: float | None) -> float | None:
    """What a collective may take; None, torch's default, where nothing is watched."""
    if not stall_timeout_seconds:
        return None
    return stall_timeout_seconds + _COLLECTIVES_LATER_SECONDS
