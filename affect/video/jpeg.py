"""One picture as JPEG, for models that are shown frames.

Example: `jpeg_bytes(sampled.frames[0], quality=85)`; needs Pillow (extra `servers`).
"""

import io

import numpy as np
import numpy.typing as npt
from PIL import Image

JPEG_QUALITY = 85
"""Of the frames that models are shown, unless a configuration says otherwise."""


def jpeg_bytes(rgb: npt.NDArray[np.uint8], quality: int = JPEG_QUALITY) -> bytes:
    """A picture (h, w, 3) as baseline JPEG; every setting that matters is fixed here."""
    buffer = io.BytesIO()
    Image.fromarray(rgb).save(
        buffer, "JPEG", quality=quality, subsampling="4:2:0", optimize=False, progressive=False
    )
    return buffer.getvalue()
