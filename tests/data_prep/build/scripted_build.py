"""Whole builds against both scripted servers, started as processes of their own.

servers = ScriptedPair(tmp_path / "servers", faults=0.3)
code, config = run_build(tmp_path / "build", videos, servers)
list(outcomes(BuildFolder(config.out)))
"""

import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from affect.config import load_config
from affect.llm.scripted.answered import Answered
from affect.llm.scripted.process import ScriptedServer
from data_prep.build.config import BuildConfig
from data_prep.build.folder import BuildFolder
from data_prep.build.run import main

ANSWERS = "tests.data_prep.scripted_answers:answer"
KEY = "SCRIPTED_KEY"


class ScriptedPair:
    """An OpenAI-compatible and a Gemini server, for the time of a `with` block."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        self.openai = ScriptedServer("openai", ANSWERS, folder, **settings)
        self.gemini = ScriptedServer("gemini", ANSWERS, folder, **settings)

    def __enter__(self) -> "ScriptedPair":
        self.openai.start()
        self.gemini.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.openai.stop()
        self.gemini.stop()

    def answered(self) -> list[Answered]:
        return self.openai.answered() + self.gemini.answered()

    def models(self) -> dict[str, dict[str, Any]]:
        """Clips go as frames, as `video_url` and through the files API."""
        gemini = {"api": "gemini", "base_url": self.gemini.base_url, "api_key_env": KEY}
        openai = {"api": "openai", "base_url": self.openai.base_url}
        every = {
            "timeout_seconds": 5.0,
            "price_per_million_prompt_tokens": 1.0,
            "price_per_million_completion_tokens": 2.0,
        }
        return {
            "watcher": {**gemini, **every, "model": "watcher", "media": "files"},
            "author": {**openai, **every, "model": "author", "media": "video_url"},
            "judge": {**openai, **every, "model": "judge", "structured_output": False},
        }


def run_build(
    out: Path,
    root: Path,
    servers: ScriptedPair,
    patch: pytest.MonkeyPatch,
    include: tuple[str, ...] = ("**/*",),
    engine: dict[str, Any] | None = None,
) -> tuple[int, BuildConfig]:
    """Run `dar build run` to its end: (its exit code, the configuration that it resolved)."""
    patch.setenv(KEY, "secret")
    config = {
        "out": os.fspath(out),
        "videos": {"root": os.fspath(root), "include": list(include)},
        "models": servers.models(),
        "roles": {
            "propose": "watcher",
            "verify": "author",
            "describe": "author",
            "tag": "judge",
            "reason": "author",
            "judges": ["watcher", "judge"],
        },
        "limits": {"max_backoff_seconds": 0.2},
        "engine": engine or {},
    }
    out.mkdir(parents=True, exist_ok=True)
    path = out.with_suffix(".yaml")
    path.write_text(yaml.safe_dump(config, allow_unicode=True), encoding="utf-8")
    code = main(["--config", os.fspath(path)])
    return code, load_config(BuildConfig, BuildFolder(out).config)
