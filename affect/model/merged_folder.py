"""An adapter merged into its base, as a folder for programs that take whole models only.

    merged = MergedFolder(Path("runs/demo/sft_lora/final"), dtype="bfloat16")
    engine = load(merged.path)
    merged.drop_weights()      # they are in the engine now; the folder itself goes with the object

The folder is a temporary one (TMPDIR) and as large as the base. To keep a merged model, use
`dar publish model`.
"""

import gc
import tempfile
from pathlib import Path

from safetensors import SafetensorError

from affect.model.adapter import merge_adapter
from affect.model.loading import load_policy


class MergedFolder:
    """`path` holds the merged weights in `dtype` and the adapter's processor.

    Raises:
        ValueError: as `load_policy` and `merge_adapter`, and where the disk is full.
    """

    def __init__(self, folder: Path, *, dtype: str, base: Path | None = None) -> None:
        model, processor = load_policy(folder, dtype=dtype, base=base)
        merged = merge_adapter(model)
        self._folder = tempfile.TemporaryDirectory(prefix="merged_adapter_")
        self.path = Path(self._folder.name)
        try:
            merged.save_pretrained(self.path)
            processor.save_pretrained(self.path)
        except (OSError, SafetensorError) as error:
            self._folder.cleanup()
            raise ValueError(
                f"{folder}: could not be merged into a temporary folder under "
                f"{self.path.parent} ({error}); let TMPDIR name a disk with room for the whole "
                "model, or merge with `dar publish model` and name that folder"
            ) from error
        del model, merged
        gc.collect()  # before an engine fills the memory

    def drop_weights(self) -> None:
        """Free the disk once the weights are loaded; configuration and processor stay."""
        for path in self.path.glob("*.safetensors"):
            path.unlink()
