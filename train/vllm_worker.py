"""What is added to vLLM's worker: taking all weights from files, and proving that it took them.

vLLM mixes this class into its worker (`worker_extension_cls`); its methods are reached by name
with `collective_rpc`. `reload_weights` is the one way that also serves engines whose weights are
repacked (the CPU's), and packs them again.

Example: llm.collective_rpc("load_sync_folder", args=("runs/mine/grpo/vllm_sync/step_3",))
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from safetensors import safe_open
from torch import Tensor

from train.vllm_names import check_exact_cover, checkpoint_names


class WeightSync:
    """Methods for vLLM's worker; `self.model_runner` is the worker's."""

    model_runner: Any

    def needed_weights(self) -> list[str]:
        """Checkpoint names of this engine's parameters."""
        model = self.model_runner.get_model()
        # A tied output layer is the embedding itself and is listed once, under the embedding.
        return checkpoint_names(name for name, _ in model.named_parameters())

    def load_sync_folder(self, folder: str) -> int:
        """Take every weight from the folder's safetensors files; returns their number.

        Raises:
            ValueError: the files do not hold each of this engine's weights exactly once.
        """
        files = sorted(Path(folder).glob("*.safetensors"))
        given: list[str] = []
        for file in files:
            with safe_open(file, framework="pt") as opened:
                given += opened.keys()
        check_exact_cover(self.needed_weights(), given)
        model = self.model_runner.get_model()
        engine_names = {name for name, _ in model.named_parameters()}
        load_weights = model.load_weights
        loaded: set[str] = set()

        def load_and_note(weights: Any) -> set[str]:
            loaded.update(load_weights(weights))
            return loaded

        # Which parameters were reached is only told to the caller of this method, inside vLLM.
        model.load_weights = load_and_note
        try:
            self.model_runner.reload_weights(weights_iterator=_tensors(files))
        finally:
            del model.load_weights
        _pack_tied_layers_again(model)
        missed = engine_names - loaded
        if missed:
            raise ValueError(
                f"vLLM left {len(missed)} parameters as they were, {min(missed)} is the first"
            )
        return len(given)


def _pack_tied_layers_again(model: Any) -> None:
    """Let layers that share another's weight read it anew.

    A reload packs the layers that it brought weights for. On a CPU the output layer computes from a
    packed copy of its own; tied to the embedding, it got no weight and would keep the first ones.
    """
    owners: set[int] = set()
    for layer in model.modules():
        weight = getattr(layer, "weight", None)
        if weight is None:
            continue
        if id(weight) in owners and hasattr(layer, "quant_method"):
            layer.quant_method.process_weights_after_loading(layer)
        owners.add(id(weight))


def _tensors(files: list[Path]) -> Iterator[tuple[str, Tensor]]:
    for file in files:
        with safe_open(file, framework="pt") as opened:
            # In the order they were written, so that a layer's parts follow each other.
            for name in opened.offset_keys():
                yield name, opened.get_tensor(name)
