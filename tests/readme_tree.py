"""The file tree of the README, made from the files themselves: one line each.

    python -m tests.readme_tree            # print it
    python -m tests.readme_tree --write    # put it into README.md

A Python file is described by the first line of its docstring, a folder by that of its
`__init__.py`, other files by their first comment or heading. `test_readme.py` fails where README
and disk differ.
"""

import ast
import re
import sys
from pathlib import Path

from tests.paths import ROOT
from tests.sources import project_files

BEGIN, END = "<!-- tree: python -m tests.readme_tree --write -->\n```text\n", "```\n<!-- /tree -->"
DESCRIPTION_COLUMN = 34

# Folders without an `__init__.py` that speaks, and files in formats that have no first comment.
MEANING = {
    ".ci": "What must hold for every change",
    "affect": "The leaf: what an emotional timeline is, reading video, asking a model",
    "affect/prompts": "One text file per prompt, loaded by name",
    "affect/llm": "Asking models: servers, retries, limits, cost, strict replies, reply cache",
    "affect/prompts/ask_again.txt": "Why a reply could not be used, and the reply",
    "affect/prompts/build_describe.txt": "What is new in S_i against D_(i-1)",
    "affect/prompts/build_describe_again.txt": "Which entities were not found",
    "affect/prompts/build_judge.txt": "Five dimensions of one segment, 0 to 5",
    "affect/prompts/build_judge_first.txt": "Its history: the first segment has none",
    "affect/prompts/build_judge_history.txt": "Its history: emotion and reason before",
    "affect/prompts/build_propose.txt": "Where the narrative turns",
    "affect/prompts/build_reason.txt": "Evidence, appraisal, trigger; four pairs, one picked",
    "affect/prompts/build_reason_feedback.txt": "Both judges' scores and words",
    "affect/prompts/build_reason_first.txt": "Its history: the first segment has none",
    "affect/prompts/build_reason_history.txt": "Its history: S_(i-1), D_(i-1), E_(i-1)",
    "affect/prompts/build_reason_merged.txt": "Equal neighbours as one lasting feeling",
    "affect/prompts/build_reason_open.txt": "The Top-3 preferred",
    "affect/prompts/build_reason_strict.txt": "The Top-3 alone",
    "affect/prompts/build_reason_unrated.txt": "All 27, without ratings",
    "affect/prompts/build_tag.txt": "Genre and scene",
    "affect/prompts/build_verify.txt": "Complete, split or merge",
    "affect/prompts/frame_times.txt": "When the frames of a clip are shown",
    "affect/prompts/judge_hardened.txt": "The hardened judge's: reasons as quoted data",
    "affect/prompts/judge_hardened_before.txt": "Its history: emotion and reason before",
    "affect/prompts/judge_hardened_first.txt": "Its history: the first segment has none",
    "affect/prompts/judge_paper.txt": "The paper's judge: appendix I, verbatim",
    "affect/prompts/reply_schema.txt": "The schema, for servers that take none",
    "affect/prompts/segment.txt": "The project's prompt: the 27 labels and the schema",
    "cli": "The `dar` command",
    "cli/ladder": "From the runs of launch/ladder.sh to a page of results",
    "configs": "YAML only; `docs/` and `--help` explain the keys",
    "configs/build": "Builds of the data builder",
    "configs/accelerate": "How many processes, on what",
    "configs/endpoints": "Models on servers, for `dar predict`",
    "configs/judge": "Judges of reasons",
    "configs/tables": "Lists of runs, for `dar tables`",
    "configs/grpo": "Runs of train/grpo.py",
    "configs/sft": "Runs of train/sft.py",
    "data_prep": "From videos to rows",
    "data_prep/build": "`dar build`: journal, engines, status",
    "docs": "Formulas, decisions, results",
    "docs/pictures": "Pictures of a report: python -m tests.evaluation.report.picture",
    "docs/pictures/report_example.png": "A clip that plays beside its timelines",
    "docs/pictures/report_example_dark.png": "The same in a dark page",
    "docs/pictures/report_summary.png": "The head of the page",
    "docs/results.json": "The figures of results.md as fractions",
    "evaluation": "predict -> score -> judge -> report",
    "evaluation/suites": "Other benchmarks",
    "launch": "Shell only: whole pipelines, each line a command",
    "publish": "A run's model as a checked folder with its card, and its push to the hub",
    "reasoners": "Answering methods that wrap a model",
    "rewards/rendered_labels.jsonl": "Rows of the rendered world without clips, for the audit",
    "speed": "Comparisons of speed and memory",
    "tests": "Mirrors the folders above",
    "train": "The two trainers",
    ".gitignore": "What git leaves alone",
    "CHANGELOG.md": "What changed, by version",
    "CONTRIBUTING.md": "How this code is written, and who may import whom",
    "LICENSE": "Apache-2.0",
    "README.md": "This page",
    "pyproject.toml": "Packages, dependencies, settings of the tools",
    "constraints.txt": "The exact version of every dependency",
}


def describe(path: Path) -> str:
    """One line about a file or folder, relative to the checkout."""
    if str(path) in MEANING:
        return MEANING[str(path)]
    file = ROOT / path
    if file.is_dir():
        init = file / "__init__.py"
        own = _docstring_line(init) if init.is_file() else ""
        return own or f"Tests of {'/'.join(path.parts[1:])}/" * (path.parts[0] == "tests")
    if path.suffix == ".py":
        return _docstring_line(file)
    text = file.read_text(encoding="utf-8")
    if path.suffix in (".js", ".css"):
        return _first_sentence(text)
    for line in text.splitlines():
        if re.match(r"#+ ", line):
            return line.lstrip("# ").rstrip(".")
    return ""


def shown_paths() -> list[Path]:
    """Folders and files of the tree in reading order; folders first, tests folder by folder."""
    files = []
    for path in project_files():
        if path.name == "__init__.py" or not (ROOT / path).stat().st_size:
            continue
        below_tests = path.parts[0] == "tests" and len(path.parts) > 2
        files.append(path.parents[-3] if below_tests else path)
    folders = {parent for path in files for parent in path.parents if parent != Path()}
    return sorted({*files, *folders}, key=_reading_order)


def render_tree() -> str:
    """The tree as text, one line per path."""
    lines = []
    for path in shown_paths():
        is_folder = (ROOT / path).is_dir()
        name = "  " * (len(path.parts) - 1) + path.name + ("/" if is_folder else "")
        lines.append(f"{name:<{DESCRIPTION_COLUMN}}{describe(path)}".rstrip())
    return "\n".join(lines) + "\n"


def tree_in(readme: str) -> str:
    """The tree that a README's text holds."""
    begin = readme.index(BEGIN) + len(BEGIN)
    return readme[begin : readme.index(END, begin)]


def main(argv: list[str] | None = None) -> int:
    """Print the tree, or with --write put it into README.md."""
    arguments = sys.argv[1:] if argv is None else argv
    if arguments == ["--write"]:
        readme = ROOT / "README.md"
        text = readme.read_text(encoding="utf-8")
        readme.write_text(text.replace(BEGIN + tree_in(text), BEGIN + render_tree()))
        return 0
    sys.stdout.write(render_tree())
    return 0


def _docstring_line(file: Path) -> str:
    docstring = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    return docstring.partition("\n")[0].rstrip(".")


def _first_sentence(text: str) -> str:
    """Of the comment that a script or style sheet opens with, which may go over lines."""
    opening = re.match(r"(?:// ?[^\n]*\n)+|/\*.*?\*/", text, re.DOTALL)
    comment = (
        re.sub(r"^// ?|^/\* ?|\*/$", "", opening.group().strip(), flags=re.M) if opening else ""
    )
    return re.split(r"[.:](?:\s|$)", " ".join(comment.split()), maxsplit=1)[0]


def _reading_order(path: Path) -> list[tuple[bool, str]]:
    return [
        ((ROOT / Path(*path.parts[: depth + 1])).is_file(), part.lower())
        for depth, part in enumerate(path.parts)
    ]


if __name__ == "__main__":
    sys.exit(main())
