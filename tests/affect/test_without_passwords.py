"""No password of an address is shown: in messages, in records, in commands that are told."""

from pathlib import Path

import pytest

from affect.config import load_config
from affect.llm.model_section import ModelSection
from affect.run_folder import environment_record
from affect.without_passwords import without_passwords


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://me:secret@host/v1", "https://***@host/v1"),
        ("'http://secret@host:8000'", "'http://***@host:8000'"),
        ("http://me:se@cret@host", "http://***@host"),
        ("http://a:secret@b and ftp://c:secret@d", "http://***@b and ftp://***@d"),
        ("http://host/a@b?c=d@e", "http://host/a@b?c=d@e"),
        ("me@host", "me@host"),
    ],
)
def test_what_is_shown(text: str, shown: str) -> None:
    assert without_passwords(text) == shown


def test_a_wrong_address_is_told_without_its_password(tmp_path: Path) -> None:
    path = tmp_path / "model.yaml"
    path.write_text("model: m\nbase_url: ftp://me:secret@host/v1\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"ftp://\*\*\*@host/v1") as raised:
        load_config(ModelSection, path)
    assert "secret" not in str(raised.value)


def test_a_recorded_command_has_none() -> None:
    record = environment_record(["train", "--base_url", "http://me:secret@host/v1"])
    assert record["command"] == ["train", "--base_url", "http://***@host/v1"]


@pytest.mark.parametrize(
    "body",
    [
        {"api_key": "secret"},
        {"headers": {"Authorization": "Bearer secret"}},
        {"providers": [{"x-api-key": "secret"}]},
        {"access_token": "secret"},
        {"password": "secret"},
    ],
)
def test_a_key_in_the_body_is_refused_unsaid(body: dict[str, object]) -> None:
    """The body stands in the headers of predictions and judgements."""
    with pytest.raises(ValueError, match="api_key_env") as raised:
        load_config(ModelSection, None, {"model": "m", "extra_body": body})
    assert "secret" not in str(raised.value)


def test_other_keys_in_the_body_stay() -> None:
    body = {"max_completion_tokens": 3, "top_k": 5, "stop_token_ids": [1], "token_budget": 9}
    assert ModelSection(model="m", extra_body=body).extra_body == body
