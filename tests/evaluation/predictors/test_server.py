"""`ServerModel` against scripted servers in processes of their own."""

import asyncio
import os
import signal
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from affect.llm.chat import BudgetSpentError
from affect.llm.reply_cache import SqliteReplyCache
from affect.llm.scripted.process import ScriptedServer
from affect.prompts import render_segment_prompt
from affect.records import Row, read_rows
from evaluation.predictions import Answer
from evaluation.predictors.server import MAX_DECODERS
from evaluation.predictors.server_doubts import ServerGoneError
from evaluation.settings import Sampling
from evaluation.shown import ShownClips
from tests.evaluation.predictors.scripted_replies import REPLIES, told
from tests.evaluation.predictors.server_run import PRICES, ask, server_model, write_clips

TIMES = (
    "The video is shown as pictures in order. They stand at these seconds of it: "
    "0.00, 0.60, 1.30, 1.90."
)
PROMPT = render_segment_prompt(2.0)


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, ScriptedServer]]:
    """A model that is called like a fault always meets it."""
    folder = tmp_path_factory.mktemp("scripted")
    started = {
        api: ScriptedServer(api, REPLIES, folder, by_model=True, most_in_a_row=0)
        for api in ("openai", "gemini")
    }
    with started["openai"], started["gemini"]:
        yield started


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clips")
    write_clips(folder, 8)
    return folder


@pytest.fixture
def rows(clips: Path) -> list[Row]:
    return read_rows(clips / "rows.jsonl")


def settings(api: str, server: ScriptedServer, **more: Any) -> dict[str, Any]:
    key = {"api_key_env": "A_KEY"} if api == "gemini" else {}
    return {"base_url": server.base_url, "api": api, **key, **more}


@pytest.mark.parametrize("api", ["openai", "gemini"])
def test_every_row_is_shown_its_frames_and_their_times(
    api: str, servers: dict[str, ScriptedServer], clips: Path, rows: list[Row]
) -> None:
    before = len(servers[api].answered())
    model = server_model(clips, **settings(api, servers[api], max_concurrent=3))
    answers = ask(model, rows)
    assert sorted(answers) == [row.id for row in rows]
    for answer in answers.values():
        assert told(answer) == {"texts": [TIMES, PROMPT], "num_media": 4, "schema": False}
        assert answer.finished and answer.num_tokens is not None
    asked = servers[api].answered()[before:]
    assert len({request.digest for request in asked}) == len(asked) == 8
    assert model.paid.summary() == "8 replies bought, cost not known"


@pytest.mark.parametrize(
    ("api", "media"), [("openai", "video_url"), ("gemini", "inline"), ("gemini", "files")]
)
def test_whole_clips_arrive(
    api: str, media: str, servers: dict[str, ScriptedServer], clips: Path, rows: list[Row]
) -> None:
    before = len(servers[api].answered())
    model = server_model(clips, **settings(api, servers[api], media=media))
    for answer in ask(model, rows[:3]).values():
        assert told(answer) == {"texts": [PROMPT], "num_media": 1, "schema": False}
    replies = [
        request for request in servers[api].answered()[before:] if request.operation == "reply"
    ]
    assert len({request.digest for request in replies}) == 3


def test_a_rows_own_prompt_and_a_schema(
    servers: dict[str, ScriptedServer], clips: Path, rows: list[Row]
) -> None:
    prompt = (
        {"role": "system", "content": "You are brief."},
        {"role": "user", "content": "<video>\nSegment it."},
    )
    row = Row("own", rows[0].video, 2.0, None, prompt, None)
    for api, server in servers.items():
        model = server_model(clips, prompt="row", **settings(api, server, structured_output=True))
        assert told(ask(model, [row])["own"]) == {
            "texts": ["You are brief.", TIMES, "\nSegment it."],
            "num_media": 4,
            "schema": True,
        }


@pytest.mark.parametrize("api", ["openai", "gemini"])
def test_replies_that_say_little_or_nothing(
    api: str, servers: dict[str, ScriptedServer], clips: Path, rows: list[Row]
) -> None:
    def one(model: str) -> Answer:
        answers = ask(server_model(clips, **settings(api, servers[api], model=model)), rows[:1])
        return answers[rows[0].id]

    assert one("empty") == Answer("", num_tokens=0, finished=True)
    cut_off = one("cut_off")
    assert cut_off.finished is False and (cut_off.text or "").startswith('{"segments"')
    assert (one("null_at_limit").text, one("null_at_limit").finished) == ("", False)
    assert one("no_usage").num_tokens is None
    refused = {"openai": "I can't help with that.", "gemini": "SAFETY"}[api]
    assert one("refused") == Answer(None, error=f"refused: {refused}")
    assert (one("blocked").error or "").startswith("refused: the ")


@pytest.mark.parametrize("kind", ["rate_limited", "bad_request"])
def test_a_failure_is_a_row_with_its_reason(
    kind: str, servers: dict[str, ScriptedServer], clips: Path, rows: list[Row]
) -> None:
    answers = ask(
        server_model(clips, **settings("openai", servers["openai"], model=kind)), rows[:3]
    )
    assert {(answer.text, (answer.error or "").split(":")[0]) for answer in answers.values()} == {
        (None, kind)
    }


def test_a_server_that_answers_nothing_but_errors_is_no_rows_fault(
    servers: dict[str, ScriptedServer], clips: Path, rows: list[Row]
) -> None:
    model = server_model(clips, **settings("openai", servers["openai"], model="server_error"))
    with pytest.raises(ServerGoneError, match=r"server_error: .*these rows stay unanswered"):
        ask(model, rows[:3])


@pytest.mark.parametrize("api", ["openai", "gemini"])
def test_a_wrong_key_ends_it_before_any_row_fails(
    api: str, servers: dict[str, ScriptedServer], clips: Path, rows: list[Row]
) -> None:
    before = len(servers[api].answered())
    model = server_model(
        clips, **settings(api, servers[api], model="not_allowed", max_concurrent=2)
    )
    with pytest.raises(
        ServerGoneError, match=r"^not_allowed at 127.0.0.1:\d+: not_allowed: "
    ) as raised:
        ask(model, rows)
    assert "\n" not in str(raised.value) and "sk-secret" not in str(raised.value)
    assert len(servers[api].answered()) - before <= 2 + MAX_DECODERS


def test_a_server_that_is_not_there(clips: Path, rows: list[Row]) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    for asked in (rows[:2], rows):
        pieces: list[Any] = []
        model = server_model(clips, f"http://name:secret@127.0.0.1:{port}/v1")
        with pytest.raises(ServerGoneError, match=f"at 127.0.0.1:{port}: ") as raised:
            pieces.extend(model.answer(asked))
        assert not pieces and "secret" not in str(raised.value)


def test_an_address_that_knows_no_model(
    servers: dict[str, ScriptedServer], clips: Path, rows: list[Row]
) -> None:
    with pytest.raises(ServerGoneError, match=r"not_found: .*HTTP 404"):
        ask(server_model(clips, servers["openai"].base_url + "/elsewhere"), rows)


def test_clips_that_can_not_be_used_are_rows(
    servers: dict[str, ScriptedServer], tmp_path: Path
) -> None:
    rows = write_clips(tmp_path, 3)
    (tmp_path / rows[0].video).unlink()
    (tmp_path / rows[1].video).write_bytes(b"no video")
    answers = ask(server_model(tmp_path, servers["openai"].base_url), rows)
    assert [answers[row.id].error is None for row in rows] == [False, False, True]
    assert "row_000.mp4" in (answers["row_000"].error or "")


def test_replies_are_bought_once(
    servers: dict[str, ScriptedServer], clips: Path, rows: list[Row], tmp_path: Path
) -> None:
    cache = SqliteReplyCache(tmp_path / "replies.sqlite")
    url = servers["openai"].base_url
    first = server_model(clips, url, options={"cache": cache}, **PRICES)
    answers = ask(first, rows)
    before = len(servers["openai"].answered())
    again = server_model(clips, url, options={"cache": cache}, **PRICES)
    assert ask(again, rows) == answers
    assert len(servers["openai"].answered()) == before
    assert first.paid.num_replies == 8 and again.paid.summary() == "no reply bought"
    assert first.paid.cost == pytest.approx(cache.spent_cost())
    drawn = Sampling(50, temperature=0.5, seed=1)
    ask(server_model(clips, url, sampling=drawn, options={"cache": cache}), rows[:2])
    assert len(servers["openai"].answered()) == before + 2
    cache.close()


def test_what_was_paid_for_is_handed_over_before_the_money_ends_it(
    servers: dict[str, ScriptedServer], clips: Path, rows: list[Row]
) -> None:
    model = server_model(
        clips,
        servers["openai"].base_url,
        options={"max_cost": 1.0},
        max_concurrent=2,
        **PRICES,
    )
    came: dict[str, Answer] = {}
    with pytest.raises(BudgetSpentError):
        for piece in model.answer(rows):
            came |= piece
    assert 0 < len(came) < len(rows)
    assert len(came) == model.paid.num_replies
    assert all(answer.error is None for answer in came.values())


def test_a_missing_key_and_a_wrong_medium(clips: Path, rows: list[Row]) -> None:
    model = server_model(clips, "http://h", api="gemini", api_key_env="NOT_SET")
    with pytest.raises(ValueError, match="NOT_SET, which is not set"):
        ask(model, rows)
    with pytest.raises(ValueError, match="'inline' is Gemini's"):
        ask(server_model(clips, "http://h", media="inline"), rows)


def test_closing_ends_all_that_is_under_way(
    servers: dict[str, ScriptedServer], clips: Path, rows: list[Row]
) -> None:
    url = servers["openai"].base_url
    threads = set(threading.enumerate())
    pieces = server_model(clips, url, max_concurrent=2).answer(rows)
    assert next(pieces)
    pieces.close()
    assert set(threading.enumerate()) <= threads
    # A request that is never answered is cancelled, too.
    hanging = server_model(clips, url, model="hang", max_concurrent=8)
    waiting = hanging.answer(rows)
    before = len(servers["openai"].answered())

    def interrupt() -> None:
        while len(servers["openai"].answered()) < before + 8:
            stop.wait(0.02)
        os.kill(os.getpid(), signal.SIGINT)

    stop = threading.Event()
    watcher = threading.Thread(target=interrupt)
    watcher.start()
    with pytest.raises(KeyboardInterrupt):
        next(waiting)
    watcher.join()
    assert set(threading.enumerate()) <= threads
    with pytest.raises(RuntimeError, match="no running event loop"):
        asyncio.get_running_loop()


def test_few_clips_are_held_at_once(
    servers: dict[str, ScriptedServer],
    clips: Path,
    rows: list[Row],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However many rows there are: the requests under way, and a clip for each decoder."""
    held: list[int] = []
    num_decoded = num_answered = 0
    decode = ShownClips.clip

    def counting(shown: ShownClips, row: Row) -> Any:
        nonlocal num_decoded
        num_decoded += 1
        held.append(num_decoded - num_answered)
        return decode(shown, row)

    monkeypatch.setattr(ShownClips, "clip", counting)
    monkeypatch.setattr("evaluation.predictors.server.MAX_DECODERS", 1)
    for piece in server_model(clips, servers["openai"].base_url, max_concurrent=2).answer(rows):
        num_answered += len(piece)
    assert (num_answered, num_decoded) == (8, 8)
    assert 1 <= max(held) <= 3
