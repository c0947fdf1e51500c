"""Defaults, file and overrides: who wins, what is refused, and where the message points."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from affect.config import check_known, load_config, save_config
from tests.affect.config.example import Run, Video


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "demo.yaml"
    path.write_text("# A demo.\nrun_dir: runs/a\nvideo:\n  max_frames: 8\ntrainer:\n  lr: 2e-6\n")
    return path


def test_defaults_then_file_then_overrides(config: Path) -> None:
    run = load_config(Run, config, {"video.min_frames": 2, "trainer.nested.flag": True})
    assert run.run_dir == Path("runs/a")
    assert run.mode == "keep"
    # fps comes from the section's default in `Run` (1.0), not from the class `Video` (2.0).
    assert run.video == Video(fps=1.0, min_frames=2, max_frames=8)
    assert run.trainer == {"max_steps": 5, "lr": 2e-6, "nested": {"flag": True}}
    assert isinstance(run.trainer["lr"], float)


def test_an_override_beats_the_file(config: Path) -> None:
    run = load_config(
        Run, config, {"run_dir": "runs/b", "trainer.lr": 1, "trainer.max_steps": None}
    )
    assert run.run_dir == Path("runs/b")
    assert run.trainer == {"max_steps": None, "lr": 1}


def test_without_a_file() -> None:
    assert load_config(Run, overrides={"run_dir": "x"}).video.fps == 1.0


def test_optional_section(config: Path) -> None:
    assert load_config(Run, config).warm is None
    assert load_config(Run, config, {"warm.fps": 3}).warm == Video(fps=3)


def test_frozen(config: Path) -> None:
    run = load_config(Run, config)
    with pytest.raises(ValidationError):
        run.mode = "drop"  # type: ignore[misc]


FAULTS: list[tuple[str, dict[str, Any], str]] = [
    ("video:\n  fsp: 1", {}, 'demo.yaml:3: unknown key "video.fsp"; did you mean "video.fps"?'),
    ("videa: {}", {}, 'demo.yaml:2: unknown key "videa"; did you mean "video"?'),
    ("", {"fps": 1}, '--fps: unknown key "fps"; did you mean "video.fps"?'),
    (
        "",
        {"warm.max_frame": 1},
        '--warm.max_frame: unknown key "warm.max_frame"; did you mean "warm.',
    ),
    ("", {"run_dirr": 1}, '--run_dirr: unknown key "run_dirr"; did you mean "run_dir"?'),
    (
        "",
        {"run_dir.y": 1},
        "run_dir: Input is not a valid path for <class 'pathlib.Path'> (got {'y'",
    ),
    ("qqqqqq: 1", {}, 'demo.yaml:2: unknown key "qqqqqq"; known keys: run_dir, mode, note, ratio,'),
    ("warm:\n  zz: 2", {}, 'demo.yaml:3: unknown key "warm.zz"; known keys: fps, min_frames, max'),
    ("mode: kept", {}, "demo.yaml:2: mode: Input should be 'keep' or 'drop' (got 'kept')"),
    ("", {"video.fps": 0}, "--video.fps: Input should be greater than 0 (got 0)"),
    ("video: 3", {}, "demo.yaml:2: video: Input should be a valid dictionary or instance of Video"),
    ("video:\n  min_frames: 40", {}, "demo.yaml:2: video: min_frames is above max_frames"),
    ("video:\n  sizes: [1, a]", {}, "demo.yaml:3: video.sizes.1: Input should be a valid integer"),
    ("ratio: .nan", {}, "demo.yaml:2: ratio: Input should be a finite number (got nan)"),
    ("trainer: 4", {}, "demo.yaml:2: trainer: Input should be a valid dictionary (got 4)"),
]


@pytest.mark.parametrize(("text", "overrides", "message"), FAULTS)
def test_faults_say_where(
    tmp_path: Path, text: str, overrides: dict[str, Any], message: str
) -> None:
    path = tmp_path / "demo.yaml"
    path.write_text(f"run_dir: x\n{text}\n")
    with pytest.raises(ValueError) as caught:
        load_config(Run, path, overrides)
    assert message in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_required(tmp_path: Path) -> None:
    (tmp_path / "demo.yaml").write_text("mode: keep\n")
    with pytest.raises(ValueError, match=r"demo\.yaml: run_dir is required$"):
        load_config(Run, tmp_path / "demo.yaml")


def test_options_with_a_name_before_them(tmp_path: Path) -> None:
    """As of `--endpoint.KEY`: every place says the option as it was typed."""
    with pytest.raises(ValueError, match=r'^--one\.vide: unknown key "vide"; did you mean "video"'):
        load_config(Run, None, {"vide": 1}, option="one")
    with pytest.raises(ValueError, match=r"^--one\.run_dir is required$"):
        load_config(Run, None, {"video.fps": 1.0}, option="one")
    path = tmp_path / "empty.yaml"
    path.write_text("")
    with pytest.raises(ValueError, match=r"empty\.yaml: run_dir is required$"):
        load_config(Run, path, {"video.fps": 1.0}, option="one")


def test_all_faults_at_once(tmp_path: Path) -> None:
    path = tmp_path / "demo.yaml"
    path.write_text("run_dir: x\nmode: no\nvideo:\n  fps: -1\n")
    with pytest.raises(ValueError) as caught:
        load_config(Run, path)
    assert len(str(caught.value).splitlines()) == 2


def test_saved_configuration_reads_back(config: Path, tmp_path: Path) -> None:
    run = load_config(Run, config, {"note": "2e-6", "warm.sizes": [3]})
    save_config(tmp_path / "deep" / "config.yaml", run)
    text = (tmp_path / "deep" / "config.yaml").read_text()
    assert "max_steps: 5" in text and "mode: keep" in text
    assert load_config(Run, tmp_path / "deep" / "config.yaml") == run
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["config.yaml"]


def test_check_known() -> None:
    check_known(["lr", "beta"], {"beta", "lr", "seed"}, "trainer")
    with pytest.raises(ValueError) as caught:
        check_known(["lr", "lerning_rate", "@"], ["learning_rate", "lr"], "trainer")
    assert str(caught.value).splitlines() == [
        'trainer: unknown key "lerning_rate"; did you mean "learning_rate"?',
        'trainer: unknown key "@"; known keys: learning_rate, lr',
    ]
