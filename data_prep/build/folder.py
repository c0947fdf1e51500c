"""The folder of one build: where everything lies, and which build it is.

builds/vce/
    config.yaml               the latest run's configuration, resolved
    environment.json          the latest run's revision, package versions, machine, command
    journal.sqlite            what every stage left for every video, failures, requests and costs
    replies.sqlite            every reply a model gave, by its request
    quarantine.jsonl          videos that ran out of time or crashed the decoder, if any
    frames/0a/<sha256>-<settings>.zip    pictures of one clip for the models
    export/                   the data set
    exported.json             what the data set was made from
    lock                      held by the process that builds

folder = BuildFolder(Path("builds/vce"))
folder.pack(video.sha256, config.picture)
"""

from dataclasses import dataclass
from pathlib import Path

from affect.frozen import digest
from data_prep.build.config import BuildConfig, PictureSection

_FRAME_SETTINGS = {"frames_fps", "max_frames", "frame_side", "jpeg_quality"}
"""Of the picture section: what decides which frames are kept and how they look."""

_LEN_SETTINGS_DIGEST = 16


@dataclass(frozen=True, slots=True)
class BuildFolder:
    """Paths of a build, none of which need exist."""

    path: Path

    @property
    def config(self) -> Path:
        return self.path / "config.yaml"

    @property
    def environment(self) -> Path:
        return self.path / "environment.json"

    @property
    def journal(self) -> Path:
        return self.path / "journal.sqlite"

    @property
    def replies(self) -> Path:
        return self.path / "replies.sqlite"

    @property
    def quarantine(self) -> Path:
        return self.path / "quarantine.jsonl"

    @property
    def export(self) -> Path:
        return self.path / "export"

    @property
    def exported(self) -> Path:
        return self.path / "exported.json"

    @property
    def lock(self) -> Path:
        return self.path / "lock"

    def pack(self, video_sha256: str, picture: PictureSection) -> Path:
        """Where the frames of one clip lie, as kept under these settings."""
        name = f"{video_sha256}-{frames_digest(picture)}.zip"
        return self.path / "frames" / video_sha256[:2] / name


def frames_digest(picture: PictureSection) -> str:
    """Names how frames are kept: the same for settings that keep the same."""
    settings = picture.model_dump(mode="json", include=_FRAME_SETTINGS)
    return digest(settings)[:_LEN_SETTINGS_DIGEST]


def identity_of(config: BuildConfig) -> dict[str, str]:
    """What may not change between the runs of one build; everything else may."""
    return {"videos.root": str(config.videos.root.resolve()), "annotator": config.annotator}
