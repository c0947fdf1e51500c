"""A vLLM engine for rollouts on videos, inside the process that serves it.

Requests of several clients share the engine's batch: they are queued by the server's threads, and
one loop (`serve_forever`) feeds and steps the engine. Weights are taken between rollouts, when
nothing is running. vLLM is imported when an engine is made, since only its own environment has it.

Example:
    engine = VideoEngine(settings)
    threading.Thread(target=server.serve_forever).start()    # its threads call engine.call(...)
    engine.serve_forever()
"""

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from affect.model.vllm_video import BANNED_BIAS, engine_input, seen_prompt, video_llm
from train.vllm_wire import Array

_IDLE_SECONDS = 0.2


@dataclass(frozen=True)
class EngineSettings:
    """How the engine is built; `memory_share` is of the device's memory (on a CPU of the RAM)."""

    model: str
    dtype: str
    max_model_tokens: int
    memory_share: float
    eager: bool
    num_gpus: int
    seed: int = 0


@dataclass
class _Job:
    """One rollout: a group of completions for each prompt."""

    groups: list[dict[str, Any]]
    result: "Future[dict[str, Any]]"
    waiting: dict[str, tuple[int, int]] = field(default_factory=dict)


class VideoEngine:
    """See the module's text."""

    def __init__(self, settings: EngineSettings) -> None:
        self.settings = settings
        self.llm = video_llm(
            **asdict(settings),
            # Not vLLM's "dummy", though a sync comes first: it also overwrites what no checkpoint
            # holds, such as the means that pixels are normalised with.
            load_format="auto",
            # At the sampling temperature, which is what the trainer computes.
            logprobs_mode="processed_logprobs",
            worker_extension_cls="train.vllm_worker.WeightSync",
        )
        self._calls: queue.SimpleQueue[tuple[Callable[[], Any], Future[Any]]] = queue.SimpleQueue()
        self._running: list[_Job] = []
        self._stopped = threading.Event()

    def describe(self) -> dict[str, Any]:
        """Settings, vLLM's version, and the names of the weights that a sync must bring."""
        import vllm

        needed = self.llm.collective_rpc("needed_weights")[0]
        return {**asdict(self.settings), "vllm": vllm.__version__, "weights": needed}

    # --- the loop -------------------------------------------------------------------------------

    def call(self, function: Callable[[], Any]) -> Any:
        """Run `function` in the loop's thread between two steps of the engine; its result."""
        done: Future[Any] = Future()
        self._calls.put((function, done))
        return done.result()

    def stop(self) -> None:
        """Let `serve_forever` return."""
        self._stopped.set()

    def serve_forever(self) -> None:
        """Step the engine while it has requests; the thread that made the engine must call this."""
        while not self._stopped.is_set():
            self._take_calls(wait=not self._running)
            if self._running:
                try:
                    outputs = self.llm.llm_engine.step()
                # Whatever broke is told to those who wait for it, and not to a log nobody reads.
                except Exception as error:  # noqa: BLE001
                    self._fail(error)
                    continue
                for output in outputs:
                    if output.finished:
                        self._finish(output)

    def _take_calls(self, wait: bool) -> None:
        try:
            while True:
                function, done = self._calls.get(timeout=_IDLE_SECONDS if wait else 0)
                wait = False
                try:
                    done.set_result(function())
                except Exception as error:  # noqa: BLE001  # the caller's thread raises it
                    done.set_exception(error)
        except queue.Empty:
            return

    def _fail(self, error: Exception) -> None:
        for job in self._running:
            self.llm.llm_engine.abort_request(list(job.waiting))
            job.result.set_exception(error)
        self._running = []

    # --- weights --------------------------------------------------------------------------------

    def load_weights(self, folder: Path) -> int:
        """Take all weights from a folder of safetensors files, and forget what the old ones made.

        Raises:
            ValueError: not each weight exactly once, or a rollout is running.
        """
        if self._running:
            raise ValueError("weights can't be loaded while completions are being sampled")
        counts = self.llm.collective_rpc("load_sync_folder", args=(str(folder),))
        engine = self.llm.llm_engine
        # Keys and values, then what merger and tower made of clips: the merger trains.
        if not self.llm.reset_prefix_cache():
            raise ValueError("vLLM did not reset its prefix cache")
        self.llm.reset_mm_cache()
        engine.reset_encoder_cache()
        return int(counts[0])

    # --- sampling -------------------------------------------------------------------------------

    def submit(self, request: dict[str, Any], arrays: dict[str, Array]) -> "Future[dict[str, Any]]":
        """Queue the rollout of a request (`train.vllm_client` writes it); in the loop's thread."""
        job = _Job(groups=[], result=Future())
        try:
            self._add(job, request, arrays)
        except BaseException:  # whatever it was: what is queued already must not run on
            self.llm.llm_engine.abort_request(list(job.waiting))
            raise
        self._running.append(job)
        return job.result

    def _add(self, job: _Job, request: dict[str, Any], arrays: dict[str, Array]) -> None:
        for number, group in enumerate(request["groups"]):
            clip_input = engine_input(
                self.llm,
                group["prompt_ids"],
                arrays[group["frames"]],
                fps=group["fps"],
                duration_seconds=group["duration_seconds"],
                second_per_grid_seconds=group["second_per_grid_seconds"],
            )
            job.groups.append(seen_prompt(self.llm, clip_input))
            job.groups[-1]["samples"] = [None] * len(group["seeds"])
            for sample, seed in enumerate(group["seeds"]):
                key = f"{id(job)}-{number}-{sample}"
                params = self._sampling_params(request, seed)
                self.llm.llm_engine.add_request(key, clip_input, params)
                job.waiting[key] = (number, sample)

    @staticmethod
    def _sampling_params(request: dict[str, Any], seed: int) -> Any:
        from vllm import SamplingParams
        from vllm.sampling_params import RequestOutputKind

        return SamplingParams(
            temperature=request["temperature"],
            top_k=request["top_k"],
            top_p=request["top_p"],
            seed=seed,
            max_tokens=request["max_new_tokens"],
            stop_token_ids=request["end_ids"],
            logit_bias=dict.fromkeys(request["banned_ids"], BANNED_BIAS),
            logprobs=0,
            detokenize=False,
            output_kind=RequestOutputKind.FINAL_ONLY,
        )

    def _finish(self, output: Any) -> None:
        for job in self._running:
            if output.request_id in job.waiting:
                break
        else:
            return  # of a job that failed meanwhile
        number, sample = job.waiting.pop(output.request_id)
        reply = output.outputs[0]
        ids = list(reply.token_ids)
        job.groups[number]["samples"][sample] = {
            "token_ids": ids,
            "log_probs": [
                entry[token].logprob for token, entry in zip(ids, reply.logprobs, strict=True)
            ],
            "finished": reply.finish_reason == "stop",
        }
        if not job.waiting:
            self._running.remove(job)
            job.result.set_result({"groups": job.groups})
