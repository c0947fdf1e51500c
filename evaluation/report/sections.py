"""The report's sections of numbers and plots, as HTML with inline SVG.

    for section in sections_of(runs, analyses):
        section.id, section.title, section.html       # 'headline', 'Headline', '<figure>...'

`contents_of` gives the same before it is HTML, for trackers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evaluation.analysis.document import Analysis
from evaluation.report.boundaries import boundaries
from evaluation.report.breakdowns import breakdowns
from evaluation.report.contents import Content, Paragraph
from evaluation.report.emotions import emotions
from evaluation.report.headline import headline
from evaluation.report.judges import judges
from evaluation.report.protocols import protocols
from evaluation.report.provenance import provenance
from evaluation.report.render import html_of
from evaluation.report.training import training
from evaluation.report.transitions import transitions
from evaluation.run_results import RunResults


@dataclass(frozen=True, slots=True)
class PageSection:
    """id: of the page, unique. title: plain text. html: escaped, without scripts and heading."""

    id: str
    title: str
    html: str


def sections_of(runs: Sequence[RunResults], analyses: Mapping[str, Analysis]) -> list[PageSection]:
    """One section per part, in the page's order; one without data says so in a sentence.

    analyses: by a run's label, of protocol `strict`. Equal runs give equal bytes.
    Raises ValueError as `contents_of`, and with what to install where matplotlib is missing.
    """
    return [
        PageSection(content.id, content.title, html_of(content))
        for content in contents_of(runs, analyses)
    ]


def contents_of(runs: Sequence[RunResults], analyses: Mapping[str, Analysis]) -> list[Content]:
    """The sections as tables, plots and sentences.

    Raises ValueError where there is no run, where two are called alike, or where one lacks its
    analysis.
    """
    labels = [run.label for run in runs]
    if not labels:
        raise ValueError("there is no run to report on; name at least one")
    twice = [label for label in labels if labels.count(label) > 1]
    if twice:
        raise ValueError(f"two runs are called {twice[0]!r}; give each its own label: LABEL=RUN")
    without = [label for label in labels if label not in analyses]
    if without:
        raise ValueError(f"run {without[0]!r} has no analysis; every run of a report needs one")
    return [
        headline(runs),
        protocols(runs),
        emotions(labels, analyses),
        transitions(labels, analyses),
        boundaries(labels, analyses),
        breakdowns(labels, analyses),
        judges(runs) or _nothing(
            "judges", "Judges of the reasons",
            "No judge has scored the reasons of these replies yet; the command dar judge asks one.",
        ),
        training(runs) or _nothing(
            "training", "Training",
            "None of these runs has a training log (metrics.jsonl), so there are no curves.",
        ),
        provenance(runs),
    ]  # fmt: skip


def _nothing(section_id: str, title: str, sentence: str) -> Content:
    return Content(section_id, title, (Paragraph(sentence),))
