"""export.json: what an exported model was made of, and what was compared when it was loaded back.

    {"run": "grpo", "source_sha256": "3b2d...", "sha256": "90ab...", "dtype": "float32",
     "base_names_compared": true, "check": {"load_back_difference": 0.0, ...}, ...}

It lies beside the weights. A second export into the same folder finds out from it whether there is
anything left to do.

Example: `read_record(Path("runs/demo/grpo/export")).check.load_back_difference`
"""

import json
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from affect.first_fault import first_fault
from affect.run_folder import write_json
from publish.processor_files import RECORD_FILE


class ExportOptions(BaseModel):
    """What the user chose; another choice is another export.

    dtype: "keep" or a precision. max_shard_size: of one weights file, such as "5GB".
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    dtype: str = "keep"
    max_shard_size: str = "5GB"


class CheckRecord(BaseModel):
    """What loading back showed. Differences are the largest ones between logits.

    load_back_difference: between the model in memory and the one loaded from the written folder.
    rounding_difference: between the trained model and the one that was written, where merging an
    adapter or another precision rounds; None where nothing was rounded.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    num_prompt_tokens: int
    num_positions: int
    largest_logit: float
    load_back_difference: float
    rounding_difference: float | None


class ExportRecord(BaseModel):
    """The content of an export.json.

    source_sha256, sha256: of the checkpoint's and the export's weights. base: a model id, or the
    last names of a folder. base_names_compared: False where it is not on this machine.
    rendered_prompt: the project's prompt for a clip of 4 s through the chat template. versions: of
    the packages that wrote it. card_sha256: of the card as it was written, by which one that a user
    has edited is known.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    run: str
    step: int | None
    source_sha256: str
    sha256: str
    options: ExportOptions
    dtype: str
    base: str
    base_names_compared: bool
    adapter: dict[str, float] | None = Field(description="rank and alpha of what was merged")
    num_tensors: int
    num_parameters: int
    check: CheckRecord
    rendered_prompt: str
    versions: dict[str, str]
    exported_at: str
    card_sha256: str = ""

    def write(self, folder: Path) -> None:
        """Write export.json into a model folder."""
        write_json(folder / RECORD_FILE, self.model_dump(mode="json"))


def read_record(folder: Path) -> ExportRecord:
    """Read the export.json of a model folder; ValueError names the file and the field."""
    path = folder / RECORD_FILE
    try:
        return ExportRecord.model_validate(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise ValueError(
            f"{folder}: has no {RECORD_FILE}, so it was not written by an export"
        ) from None
    except ValidationError as error:
        raise ValueError(f"{path}: field {first_fault(error)}") from error
    except ValueError as error:
        raise ValueError(f"{path}: not JSON ({error})") from error
