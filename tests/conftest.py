"""What holds for all tests.

A shell starts a background job with SIGINT ignored, and its children inherit that: where the tests
run as one, Ctrl-C would reach neither them nor the commands that they start and interrupt.
"""

import signal
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.affect.llm.vllm_openai import VllmOpenAI

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def vllm_server(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[VllmOpenAI]":
    """vLLM's OpenAI server around a tiny random Qwen2.5-VL, one for all tests: its start costs more
    than what they ask of it. For tests marked `needs_vllm_server`."""
    from tests.affect.llm.vllm_openai import VllmOpenAI

    with VllmOpenAI(tmp_path_factory.mktemp("vllm_openai")) as started:
        yield started
