"""What a file is, as a MIME type: from its content, since names lie and servers believe them.

container_mime_type("holiday.mp4")      # "video/quicktime", if that is what it is
"""

from affect.video.open import VideoPath, open_video

_BY_FORMAT = {
    "avi": "video/x-msvideo",
    "flv": "video/x-flv",
    "mpegts": "video/mp2t",
    "mpeg": "video/mpeg",
    "mpegvideo": "video/mpeg",
    "m4v": "video/mp4v-es",
    "ogg": "video/ogg",
    "asf": "video/x-ms-asf",
    "rm": "application/vnd.rn-realmedia",
    "mxf": "application/mxf",
    "nut": "video/x-nut",
    "ivf": "video/x-ivf",
    "dv": "video/dv",
    "h263": "video/h263",
    "h264": "video/h264",
    "hevc": "video/h265",
    "obu": "video/av1",
    "vc1": "video/vc1",
    "wtv": "video/x-ms-wtv",
    "swf": "application/vnd.adobe.flash.movie",
    "gif": "image/gif",
    "apng": "image/apng",
}
"""By FFmpeg's name of the container, for those that one name tells."""

_DOC_TYPE_ID = b"\x42\x82"
_EBML_HEADER_BYTES = 256


def container_mime_type(path: VideoPath) -> str:
    """The type of a video file's container; nothing is decoded.

    Raises VideoError for what is not a video.
    """
    with open_video(path) as (container, _):
        kind = container.format.name.split(",")[0]
        brand = container.metadata.get("major_brand")
    if kind == "mov":
        return _of_brand(brand)
    if kind == "matroska":
        return "video/webm" if _doc_type(path) == b"webm" else "video/x-matroska"
    return _BY_FORMAT.get(kind, "application/octet-stream")


def _of_brand(brand: str | None) -> str:
    """QuickTime, MP4 and 3GP share one container; its first box names the family. Files without
    that box are older than it, and QuickTime."""
    if brand is None or brand.startswith("qt"):
        return "video/quicktime"
    if brand.startswith("3g2"):
        return "video/3gpp2"
    return "video/3gpp" if brand.startswith("3g") else "video/mp4"


def _doc_type(path: VideoPath) -> bytes:
    """What an EBML header says that follows it: `webm` or `matroska`."""
    with open(path, "rb") as file:
        header = file.read(_EBML_HEADER_BYTES)
    start = header.find(_DOC_TYPE_ID)
    if start < 0 or start + 3 > len(header):
        return b""
    length = header[start + 2] & 0x7F
    return header[start + 3 : start + 3 + length].rstrip(b"\0")
