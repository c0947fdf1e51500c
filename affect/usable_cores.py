"""How many cores this process may use, which in a container may be fewer than the machine has.

Example: `ThreadPoolExecutor(num_usable_cores())`
"""

import os


def num_usable_cores() -> int:
    """1 or more. Where the system doesn't say what is allowed (macOS), all cores."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
