"""A scripted server as a process of its own.

    python -m affect.llm.scripted --api openai --answers tests.data_prep.scripted_answers:answer \
        --faults 0.3 --seed 0 --latency-seconds 0.1 --log requests.jsonl

It prints {"port": ..., "base_url": ...} once it listens, and ends on SIGTERM, on Ctrl-C, and with
`--while-stdin-is-open` when whoever started it is gone.
"""

import argparse
import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from aiohttp import web

from affect.llm.scripted.answered import AnsweredLog
from affect.llm.scripted.answering import Answering
from affect.llm.scripted.application import APPLICATIONS, listening_line
from affect.llm.scripted.asked import load_answers
from affect.llm.scripted.faults import FAULTS, FaultPlan


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until told to stop. Returns 2 for a wrong argument."""
    options = _parser().parse_args(argv)
    try:
        plan = FaultPlan(
            options.faults,
            options.seed,
            options.always,
            options.most_in_a_row or None,
            options.faults_by_model,
        )
        answers = load_answers(options.answers)
    except ValueError as error:
        sys.stderr.write(f"scripted server: {error}\n")
        return 2
    answering = Answering(
        answers,
        plan,
        AnsweredLog(options.log),
        options.latency_seconds,
        options.retry_after_seconds,
    )
    asyncio.run(_serve(answering, options.api, options.port, options.while_stdin_is_open))
    return 0


async def _serve(answering: Answering, api: str, port: int, while_stdin_is_open: bool) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    if while_stdin_is_open:
        loop.add_reader(sys.stdin.fileno(), _stop_at_end, stop)
    runner = web.AppRunner(APPLICATIONS[api](answering), access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", port, backlog=1024)
        await site.start()
        _, bound_port = runner.addresses[0][:2]
        sys.stdout.write(listening_line(bound_port, api) + "\n")
        sys.stdout.flush()
        await stop.wait()
    finally:
        await runner.cleanup()


def _stop_at_end(stop: asyncio.Event) -> None:
    with contextlib.suppress(BlockingIOError):
        if not os.read(sys.stdin.fileno(), 4096):
            asyncio.get_running_loop().remove_reader(sys.stdin.fileno())
            stop.set()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m affect.llm.scripted",
        description="A scripted OpenAI-compatible or Gemini server, with faults.",
    )
    parser.add_argument("--api", choices=sorted(APPLICATIONS), required=True)
    parser.add_argument("--answers", required=True, help="package.module:function")
    parser.add_argument("--port", type=int, default=0, help="0: any that is free")
    parser.add_argument("--faults", type=float, default=0.0, help="share of requests, 0 to 1")
    parser.add_argument("--always", choices=FAULTS, help="the one kind of fault there is")
    parser.add_argument(
        "--most-in-a-row", type=int, default=2, help="faults for one request; 0 sets no end"
    )
    parser.add_argument(
        "--faults-by-model", action="store_true", help="a model called like a fault always meets it"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the faults")
    parser.add_argument("--latency-seconds", type=float, default=0.0)
    parser.add_argument("--retry-after-seconds", type=int, default=1)
    parser.add_argument("--log", type=Path, help="JSON Lines, one per request answered")
    parser.add_argument("--while-stdin-is-open", action="store_true")
    return parser


if __name__ == "__main__":
    sys.exit(main())
