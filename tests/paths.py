"""Where the tests find things outside their own folder.

Example: `from tests.paths import SHARED, needs_shared`.
"""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared"

needs_shared = pytest.mark.skipif(
    not (SHARED / "videos" / "TRUTH.tsv").is_file(),
    reason="the folder of real and broken clips (../shared/videos) is not beside this checkout",
)
