"""Configuration of a command: typed sections, filled from defaults, YAML and the command line.

    class Video(Section):
        fps: float = Field(2.0, description="Frames per second to sample.")

    class Run(Section):
        run_dir: Path = Field(description="Folder that receives everything the run writes.")
        video: Video = Video()
        trainer: dict[str, Any] = Field({}, description="Passed unchanged to the trainer.")

    run = parse_command_line(Run, argv, prog="train", description="Trains.", config_folder=folder)
    save_config(run.run_dir / "config.yaml", run)

Nothing here imports anything heavy: a wrong key is reported before torch is loaded.
"""

from affect.config.command_line import parse_command_line
from affect.config.known_keys import check_known, nearest
from affect.config.load import load_config, save_config
from affect.config.section import Section

__all__ = ["Section", "check_known", "load_config", "nearest", "parse_command_line", "save_config"]
