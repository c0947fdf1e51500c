"""Which containers Gemini takes as a video, under its own names for them.

>>> gemini_video_type("video/quicktime"), gemini_video_type("video/x-matroska")
('video/mov', None)

A clip in any other container is shown to Gemini as frames.
"""

_VIDEO_TYPES = {
    "video/3gpp": "video/3gpp",
    "video/mp4": "video/mp4",
    "video/mpeg": "video/mpeg",
    "video/quicktime": "video/mov",
    "video/webm": "video/webm",
    "video/x-flv": "video/x-flv",
    "video/x-ms-asf": "video/wmv",
    "video/x-msvideo": "video/avi",
}
"""What Gemini's list of video types calls each container that it has."""


def gemini_video_type(mime_type: str) -> str | None:
    """Gemini's name of a container's type; None for a container that it does not take."""
    return _VIDEO_TYPES.get(mime_type)
