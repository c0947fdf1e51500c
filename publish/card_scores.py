"""The card's tables of scores: every figure of every score file, and which ones nobody computed.

Example: `scores_section(read_scores(run, weights), "float32")`
"""

from collections.abc import Sequence

from publish.markup import code, plain, table
from publish.score_files import Figure, ScoreFile

NOT_COMPUTED = "not computed"
# What a reader looks for under each protocol, whether or not somebody computed it.
_LOOKED_FOR = {
    "strict": ("valid_json", "valid_timeline", "sc_acc", "miou_segment", "miou_video", "emo_acc"),
    "paper": ("sc_acc", "miou_segment", "miou_video", "emo_acc"),
    "released": ("sc_acc", "miou_segment", "miou_video", "emo_acc"),
}
_HEADER = ("protocol", "metric", "mean [95 % interval]", "clips scored / unparsed / missing")
_READ_AS = """\
Percent; intervals from a bootstrap over clips. `strict` is the headline: pairs one to one, nothing
repaired, a reply that does not parse counts as 0. `paper` takes the best overlap per true segment.
`released` is the published script: pairs by index, repairs, failures left out. `emo_acc_at_T` is
over all places, `emo_acc_given_iou_T` only over those with tIoU >= T; more in docs/protocols.md of
the code."""
_ASKED = ("rows", "rows_sha256", "temperature", "top_k", "top_p", "seed", "max_new_tokens", "dtype")


def scores_section(files: Sequence[ScoreFile], dtype: str) -> str:
    """One table per score file; one of gaps where there is none.

    Args:
        dtype: the precision of the exported weights, to be told apart from that of the scored ones.
    """
    counted = [file for file in files if file.left_out is None]
    parts = [_READ_AS]
    if not counted:
        parts.append("The run has no scores of this model.")
        parts.append(_table({}))
    for file in counted:
        parts += [f"### {plain(file.name)}", _how_asked(file, dtype), _table(dict(file.rows))]
    left_out = [file for file in files if file.left_out is not None]
    if left_out:
        parts.append(
            "Not shown: "
            + "; ".join(f"{code(f'scores/{file.name}.json')}, {file.left_out}" for file in left_out)
            + "."
        )
    return "\n\n".join(parts)


def _how_asked(file: ScoreFile, dtype: str) -> str:
    if file.asked is None:
        return "The run does not record how these answers were asked for, nor of which weights."
    told = [
        f"{code(name)} {code(_shown(name, file.asked[name]))}"
        for name in _ASKED
        if file.asked.get(name) is not None
    ]
    text = f"Answers: {', '.join(told) or 'how they were asked for is not recorded'}."
    scored = file.asked.get("dtype")
    if isinstance(scored, str) and scored != dtype:
        text += f" They were given in {plain(scored)}; the weights here are {plain(dtype)}."
    return text


def _shown(name: str, value: object) -> str:
    # Of the rows' path only the file: the rest is some machine's.
    return str(value).replace("\\", "/").rpartition("/")[2] if name == "rows" else str(value)


def _table(rows: dict[tuple[str, str], Figure]) -> str:
    wanted = [(protocol, metric) for protocol, metrics in _LOOKED_FOR.items() for metric in metrics]
    order = [*wanted, *(key for key in rows if key not in wanted)]
    protocols = list(dict.fromkeys(protocol for protocol, _ in order))
    lines = []
    for protocol, metric in sorted(order, key=lambda key: protocols.index(key[0])):
        figure = rows.get((protocol, metric))
        lines.append((plain(protocol), code(metric), _mean(figure), _clips(figure)))
    return table(_HEADER, lines)


def _mean(figure: Figure | None) -> str:
    if figure is None or figure.mean is None:
        return NOT_COMPUTED
    if figure.low is None or figure.high is None:
        return f"{100 * figure.mean:.1f} [interval {NOT_COMPUTED}]"
    return f"{100 * figure.mean:.1f} [{100 * figure.low:.1f}, {100 * figure.high:.1f}]"


def _clips(figure: Figure | None) -> str:
    if figure is None:
        return NOT_COMPUTED
    return f"{figure.num_scored} / {figure.num_unparsed} / {figure.num_missing}"
