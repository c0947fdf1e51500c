"""Look: decode each file once for all that its picture tells, and keep frames for the models.

    looked = await look.run(inputs)      # Looked(num_frames=250, cuts=(Cut(3.0, "cut"), ...), ...)

Section 3.2 of the paper needs hash and flow, section 3.3 the visual cuts. The decode runs in a
guarded worker process. A file that does not decode is a failure of its own, `undecodable`, with the
decoder's reason; it is never taken for a static clip.
"""

import asyncio
import os

from affect.video import GuardedReader, VideoError
from affect.video.open import DecoderEndedError
from data_prep.build.config import PictureSection
from data_prep.clip import Clip
from data_prep.picture.one_pass import look_at
from data_prep.records import Looked, StageFailure, Video
from data_prep.stages.stage import stage


@stage()
async def look(video: Video, clip: Clip, settings: PictureSection, reader: GuardedReader) -> Looked:
    """Raises StageFailure: `undecodable`; `decoder_ended` where the worker was ended from outside
    or ran out of memory, which says nothing about the file; `look_failed` for a fault of ours,
    which for one odd file must not end a run over thousands."""
    try:
        text = await asyncio.to_thread(
            reader.call, look_at, clip.path, settings.model_dump_json(), os.path.abspath(clip.pack)
        )
    except DecoderEndedError as error:
        raise StageFailure("decoder_ended", error.reason) from error
    except VideoError as error:
        raise StageFailure("undecodable", error.reason) from error
    except RuntimeError as error:  # what the worker reports of any other exception
        raise StageFailure("look_failed", str(error)) from error
    return Looked.from_json(text)
