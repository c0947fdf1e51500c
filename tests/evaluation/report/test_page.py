"""The file: what its policy allows, and hostile text in its markup."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.report import page as page_module
from evaluation.report.__main__ import main
from evaluation.report.page import SCRIPTS, STYLES, render_page
from evaluation.report.sections import PageSection
from tests.evaluation.report.page_runs import timeline_text, write_run, write_tagged_rows
from tests.paths import ROOT

ASSETS = ROOT / "evaluation" / "report"
NOTHING_TO_SHOW: dict[str, Any] = {"clips": []}
TRUTHS: dict[str, Any] = {"a": [[0, 8, "Joy", "They dance."]], "b": [[0, 8, "Fear", "Dark."]]}


class Scripts(HTMLParser):
    """What a browser finds in the page: scripts by type, and the policy."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.policy = ""
        self.tags: list[str] = []
        self.is_script = False
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.is_script = tag == "script"
        if self.is_script:
            self.scripts.append((dict(attrs), ""))
        if ("http-equiv", "Content-Security-Policy") in attrs:
            self.policy = str(dict(attrs)["content"])

    def handle_endtag(self, tag: str) -> None:
        self.is_script = False

    def handle_data(self, data: str) -> None:
        if self.is_script:
            attributes, text = self.scripts[-1]
            self.scripts[-1] = (attributes, text + data)


def test_the_policy_allows_the_one_script_and_no_network() -> None:
    found = Scripts(render_page("t", [], NOTHING_TO_SHOW, {}))
    (data, script) = found.scripts
    assert data == ({"type": "application/json", "id": "data"}, '{"clips":[]}')
    digest = base64.b64encode(hashlib.sha256(script[1].encode()).digest()).decode()
    assert found.policy.split("; ") == [
        "default-src 'none'",
        f"script-src 'sha256-{digest}'",
        "style-src 'unsafe-inline'",
        "img-src data:",
        "media-src 'self' file: blob:",
        "base-uri 'none'",
        "form-action 'none'",
    ]


@given(st.text(), st.text(st.characters(codec="utf-8") | st.sampled_from("</!->&\u2028")))
def test_any_text_stays_data(title: str, reason: str) -> None:
    hostile = f"</script><script>{reason}<!--<script>]]>"
    examples = {"clips": [], "texts": [hostile, reason]}
    found = Scripts(render_page(title, [PageSection("x", hostile, "")], examples, {}, [hostile]))
    assert len(found.scripts) == 2
    assert json.loads(found.scripts[0][1]) == examples
    assert set(found.tags) == {
        "html", "head", "meta", "title", "style", "body", "nav", "a", "main", "div", "header",
        "h1", "h2", "p", "section", "noscript", "script",
    }  # fmt: skip


@pytest.mark.parametrize("name", [*STYLES, *SCRIPTS])
def test_each_asset_says_what_it_is_for_and_fetches_nothing(name: str) -> None:
    text = (ASSETS / name).read_text(encoding="utf-8")
    assert text.startswith("// " if name.endswith(".js") else "/* ")
    forbidden = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|"
    forbidden += r"fetch\(|XMLHttpRequest|WebSocket|\bimport\(|@import|url\(|https?:"
    assert re.findall(forbidden, text) == []


def test_all_assets_are_in_the_page() -> None:
    on_disk = {path.name for path in ASSETS.iterdir() if path.suffix in (".js", ".css")}
    assert on_disk == {*STYLES, *SCRIPTS}


def test_an_asset_that_would_end_its_element_is_a_mistake_of_ours(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(page_module, "files", lambda _: tmp_path)
    for name in (*STYLES, *SCRIPTS):
        (tmp_path / name).write_text("// </script>")
    with pytest.raises(AssertionError):
        render_page("t", [], NOTHING_TO_SHOW, {})


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = write_tagged_rows(tmp_path, TRUTHS)
    replies = {row_id: timeline_text(spans) for row_id, spans in TRUTHS.items()}
    run = write_run(tmp_path / "runs" / "sft", rows, replies)
    assert main([str(run)]) == 0
    told = "Clips: 2 without a file; --video-root names their folder."
    assert capsys.readouterr().err == f"wrote {run / 'report.html'}: {told}\n"
    html = (run / "report.html").read_text(encoding="utf-8")
    assert "<title>sft on test</title>" in html
    assert "No training curves for sft: no metrics.jsonl in the run." in html
    assert "No judge&#x27;s scores for sft: no finished judgements." in html
    assert json.loads(Scripts(html).scripts[0][1])["runs"] == ["sft"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["{run}", "--name", "dev"], "the run has no predictions 'dev'; it has test"),
        (["{run}", "--out", "{run}"], "is a folder; name the file to write"),
        (["{run}", "{run}"], "2 runs are called 'sft'; tell them apart by --label L=RUN"),
        (["{run}", "--label", "SFT"], "--label SFT: write LABEL=RUN"),
    ],
)
def test_mistakes_are_one_line(
    arguments: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = write_tagged_rows(tmp_path, TRUTHS)
    run = write_run(tmp_path / "runs" / "sft", rows, {})
    assert main([argument.format(run=run) for argument in arguments]) == 2
    error = capsys.readouterr().err
    assert error.startswith("report: ") and error.count("\n") == 1 and said in error
    assert not (run / "report.html").exists()
