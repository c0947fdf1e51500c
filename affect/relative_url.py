"""The address of a file for a page in some folder, so that both can move together.

    relative_url(Path("data/a #1.mp4"), Path("runs/demo"))      # '../../data/a%20%231.mp4'

Every character that means something in an address is encoded, so that `a#b?.mp4` and
`javascript:x.mp4` are files.
"""

import os
from pathlib import Path
from urllib.parse import quote


def relative_url(path: Path, folder: Path) -> str:
    """Begins with `./` or `../`. Links to folders are not followed."""
    relative = Path(os.path.relpath(os.path.abspath(path), os.path.abspath(folder)))
    encoded = "/".join(quote(os.fsencode(part), safe="") for part in relative.parts)
    return encoded if encoded.startswith("../") else f"./{encoded}"
