"""Our multimodal requests against a real server: vLLM with a tiny random Qwen2.5-VL.

What its random words say is worth nothing; that pictures, a clip and a JSON schema are taken and
obeyed is what is asked here.
"""

import asyncio
import io
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from PIL import Image
from pydantic import BaseModel

from affect.llm.call import Call
from affect.llm.chat import Answer, Frame, Frames, ModelFailure, Part, Question, ReplyT, VideoFile
from affect.llm.retrying import RetryPolicy
from affect.llm.role_models import RoleModels
from tests.affect.llm.replies import Tag, section
from tests.affect.llm.vllm_openai import VllmOpenAI, needs_vllm_server
from tests.affect.video.clips import write_clip

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300), needs_vllm_server]


class Choice(BaseModel):
    """Every reply that keeps to this schema is short and complete."""

    genre: Literal["Sports", "Horror"]
    is_outdoor: bool


def pictures(num: int) -> Frames:
    frames = []
    for number in range(num):
        buffer = io.BytesIO()
        picture = np.full((56, 56, 3), (40 * number, 90, 200 - 20 * number), np.uint8)
        Image.fromarray(picture).save(buffer, "jpeg")
        frames.append(Frame(0.25 * number, buffer.getvalue()))
    return Frames("ab" * 32, tuple(frames))


def clip(folder: Path) -> VideoFile:
    path = write_clip(folder / "clip.mp4", num_frames=30)
    return VideoFile("cd" * 32, path, "video/mp4", pictures(2))


def ask(
    vllm_server: VllmOpenAI,
    reply_type: type[ReplyT],
    *parts: Part,
    max_tokens: int = 80,
    **settings: Any,
) -> tuple[Answer[ReplyT] | ModelFailure, list[Call]]:
    calls: list[Call] = []

    async def main() -> Answer[ReplyT] | ModelFailure:
        models = RoleModels(
            {"tag": "tiny"},
            {"tiny": section(base_url=vllm_server.base_url, **{"model": "tiny", **settings})},
            policy=RetryPolicy(2, 1.0),
            on_call=calls.append,
        )
        try:
            return await models.ask("tag", Question("tag", parts, max_tokens), reply_type)
        except ModelFailure as failure:
            return failure
        finally:
            await models.aclose()

    return asyncio.run(main()), calls


def prompt_tokens(calls: list[Call]) -> int:
    assert calls[0].prompt_tokens is not None
    return calls[0].prompt_tokens


def test_pictures_and_a_schema(vllm_server: VllmOpenAI) -> None:
    answer, calls = ask(vllm_server, Choice, "Frames:", pictures(2), "Which?")
    assert isinstance(answer, Answer), answer
    assert (answer.value.genre in ("Sports", "Horror"), answer.num_asks) == (True, 1)
    assert calls[0].completion_tokens is not None
    assert 0 < calls[0].completion_tokens < 80
    _, more = ask(vllm_server, Choice, "Frames:", pictures(5), "Which?")
    # 56 x 56 pixels are 4 tokens after the tower's merging, between 2 marks.
    assert prompt_tokens(more) - prompt_tokens(calls) == 3 * (4 + 2)


def test_a_whole_clip_and_a_schema(vllm_server: VllmOpenAI, tmp_path: Path) -> None:
    answer, calls = ask(vllm_server, Choice, clip(tmp_path), "Which?", media="video_url")
    assert isinstance(answer, Answer), answer
    _, without = ask(vllm_server, Choice, "Which?")
    assert prompt_tokens(calls) > prompt_tokens(without)


def test_a_reply_over_the_limit_is_cut_off(vllm_server: VllmOpenAI) -> None:
    failure, calls = ask(vllm_server, Tag, pictures(1), "Which?", max_tokens=3)
    assert isinstance(failure, ModelFailure)
    assert failure.kind == "cut_off"
    assert [(call.outcome, call.completion_tokens) for call in calls] == [("cut_off", 3)] * 3


def test_without_structured_output_random_words_are_no_reply(vllm_server: VllmOpenAI) -> None:
    failure, calls = ask(vllm_server, Tag, pictures(1), "Which?", structured_output=False)
    assert isinstance(failure, ModelFailure)
    assert failure.kind in ("off_schema", "cut_off", "empty")
    assert [call.num_ask for call in calls] == [1, 2, 3]
    assert all(call.prompt_tokens for call in calls)


def test_sampling_settings_are_taken(vllm_server: VllmOpenAI) -> None:
    settings = {"temperature": 0.8, "top_p": 0.9, "extra_body": {"top_k": 20}}
    answer, _ = ask(vllm_server, Choice, "Which?", **settings)
    assert isinstance(answer, Answer), answer


def test_what_the_server_does_not_take_is_named(vllm_server: VllmOpenAI) -> None:
    failure, calls = ask(vllm_server, Choice, pictures(9), "Which?")
    assert isinstance(failure, ModelFailure)
    assert failure.kind == "bad_request"
    assert len(calls) == 1
    failure, _ = ask(vllm_server, Choice, "Which?", model="another")
    assert isinstance(failure, ModelFailure)
    assert failure.kind == "not_found"
