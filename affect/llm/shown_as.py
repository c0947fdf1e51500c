"""Whether a model is shown a whole clip or its frames: the section's wish, and what its API takes.

shown_as_frames(ModelSection(model="m", media="video_url"), clip)      # False
shown_as_frames(ModelSection(api="gemini", model="m", media="files"), matroska)      # True
"""

from affect.llm.chat import VideoFile
from affect.llm.gemini_video_types import gemini_video_type
from affect.llm.model_section import ModelSection


def shown_as_frames(section: ModelSection, clip: VideoFile) -> bool:
    """As frames where the section says so, and to Gemini where it does not take the container."""
    if section.media == "frames":
        return True
    return section.api == "gemini" and gemini_video_type(clip.mime_type) is None
