"""docs/protocols.md says what is so: its worked examples and its measured policies are scored."""

import re
from collections.abc import Sequence

import pytest

from evaluation.metrics import PROTOCOLS, Bootstrap, Clip, ScoreRow, make_clip, score_clips
from tests.evaluation.files import reply
from tests.evaluation.metrics.test_protocols import timeline
from tests.evaluation.policies import POLICIES, drawn_truths
from tests.paths import ROOT

PAGE = (ROOT / "docs" / "protocols.md").read_text(encoding="utf-8")
EXAMPLE = re.compile(
    r"(?P<clips>(?:    (?:truth|reply)  [^\n]*\n)+)\n"
    r"(?P<head>\|[^\n]*\n)(?P<rule>\| --- [^\n]*\n)(?P<rows>(?:\| `[^\n]*\n)+)"
)
EXAMPLES = list(EXAMPLE.finditer(PAGE))
SPAN = re.compile(r"([\d.]+)-([\d.]+) (.+)")
ONCE = Bootstrap(num_replicates=1)


def spans_of(text: str) -> list[list[float | str]]:
    """`0-4 Joy, 4-10 Fear`."""
    found = [SPAN.fullmatch(part) for part in text.split(", ")]
    return [[float(one[1]), float(one[2]), one[3]] for one in found if one]


def clips_of(block: str) -> list[Clip]:
    """A truth and its reply by turns; `"..."` is a reply's text, `none` no reply."""
    lines = [line.split(maxsplit=1) for line in block.strip().splitlines()]
    assert [word for word, _ in lines] == ["truth", "reply"] * (len(lines) // 2)
    clips: list[Clip] = []
    for (_, truth), (_, answer) in zip(lines[::2], lines[1::2], strict=True):
        spans = spans_of(truth)
        stated = timeline(spans, float(spans[-1][1]))
        text = answer.strip('"') if answer.startswith('"') else reply(spans_of(answer))
        clips.append(make_clip(str(len(clips)), stated, None if answer == "none" else text))
    return clips


def means(clips: Sequence[Clip], protocol: str) -> dict[str, float | None]:
    return {row.metric: row.mean for row in score_clips(clips, [protocol], ONCE)}


def written(mean: float | None) -> str:
    """`.583`, `1`, `-`."""
    if mean is None:
        return "-"
    return f"{mean:.3f}".rstrip("0").rstrip(".").removeprefix("0") or "0"


def cells_of(line: str) -> list[str]:
    return [cell.strip().strip("`") for cell in line.strip().strip("|").split("|")]


def test_the_examples_are_found() -> None:
    shown = PAGE.count("\n    truth  ")
    assert sum(len(clips_of(one["clips"])) for one in EXAMPLES) == shown == 12


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda one: one["clips"].splitlines()[1].strip())
def test_worked_example(example: re.Match[str]) -> None:
    clips = clips_of(example["clips"])
    metrics = cells_of(example["head"])[1:]
    rows = [cells_of(line) for line in example["rows"].splitlines()]
    assert [row[0] for row in rows] == list(PROTOCOLS)
    for protocol, *stated in rows:
        found = means(clips, protocol)
        assert stated == [written(found[metric]) for metric in metrics], protocol


@pytest.fixture(scope="module")
def measured() -> dict[str, dict[tuple[str, str], ScoreRow]]:
    truths = drawn_truths()
    return {
        name: {
            (row.protocol, row.metric): row
            for row in score_clips(
                [make_clip(str(i), truth, policy(truth)) for i, truth in enumerate(truths)],
                None,
                ONCE,
            )
        }
        for name, policy in POLICIES.items()
    }


@pytest.mark.parametrize("name", list(POLICIES))
def test_measured_policy(name: str, measured: dict[str, dict[tuple[str, str], ScoreRow]]) -> None:
    (line,) = [line for line in PAGE.splitlines() if line.startswith(f"| {name} |")]
    rows = measured[name]
    expected = [
        " / ".join(_percent(rows[protocol, metric].mean) for protocol in PROTOCOLS)
        for metric in ("sc_acc", "miou_segment", "emo_acc", "emo_acc_given_iou_0.5")
    ]
    assert cells_of(line)[1:] == [*expected, str(rows["strict", "sc_acc"].num_unparsed)]


def _percent(mean: float | None) -> str:
    return "-" if mean is None else f"{100 * mean:.1f}"


def test_every_metric_and_protocol_is_on_the_page() -> None:
    for name, protocol in PROTOCOLS.items():
        assert f"`{name}`" in PAGE
        for metric in protocol.metrics:
            shown = re.sub(r"_(0\.\d)$", "_T", metric)
            assert f"`{shown}`" in PAGE, metric
