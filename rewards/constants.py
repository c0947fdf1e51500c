"""Every number of the two presets, once, with its unit and where it comes from.

Example: `PAPER.count_decay_segments` is the 1.5 of equation 5; `PAPER.weights["emo"]` is .25.
"Section" and "eq." mean the DAR paper, section 4.2 unless another is named.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

TERMS = ("struct", "count", "seg", "emo", "reason")
"""The five terms in the order of equation 9; also the names under which TRL logs them."""


def _paper_weights() -> Mapping[str, float]:
    return MappingProxyType(
        {"struct": 0.10, "count": 0.25, "seg": 0.25, "emo": 0.25, "reason": 0.15}
    )


@dataclass(frozen=True, slots=True)
class PaperConstants:
    """The constants of equations 4 to 9 as the paper prints them."""

    format_share: float = 0.5  # eq. 4, lambda_1: valid under the strict parse
    duration_share: float = 0.2  # eq. 4, lambda_2: no segment too short
    length_share: float = 0.3  # eq. 4, lambda_3: psi_len
    min_segment_seconds: float = 0.4  # eq. 4, tau_min
    soft_limit_tokens: int = 1200  # eq. 4, L_soft of psi_len
    hard_limit_tokens: int = 2400  # eq. 4, L_hard of psi_len
    length_decay_tokens: float = 400.0  # eq. 4, tau_len of psi_len
    count_decay_segments: float = 1.5  # eq. 5, tau_cnt
    overlap_share: float = 0.5  # eq. 6, alpha: IoU against closeness of the boundaries
    boundary_decay_seconds: float = 0.5  # eq. 6, tau_temp
    min_label_iou: float = 0.5  # eq. 7: a label counts where IoU is *above* this
    reason_mean_words: int = 120  # eq. 8, mu_len
    reason_decay_words: float = 40.0  # eq. 8, sigma_len
    duplicate_jaccard: float = 0.75  # eq. 8, tau_dup: a copy is *above* this
    weights: Mapping[str, float] = field(default_factory=_paper_weights)  # eq. 9; section 5


@dataclass(frozen=True, slots=True)
class HardenedConstants:
    """What the hardened preset adds to, or puts in place of, the paper's constants."""

    # Length of the true segment that the boundary term's decay is: .2 is the paper's .5 s for a
    # segment of 2.5 s, and 1.16 s for DAR's mean segment of 5.8 s (section 3).
    boundary_decay_share: float = 0.2
    # IoU from which a pair is the same event. "At least", as the paper's metric asks (section 5).
    min_label_iou: float = 0.5
    # A reason's length earns 1.0 from `flat_min_words` to `flat_max_words`: the rendered world's
    # references have 12 to 22 words, annotated clips 60 to 100, DAR's mean is 118.8 (section 3).
    flat_min_words: int = 10
    flat_max_words: int = 220
    short_decay_words: float = 3.0  # 9 words earn .72, 5 earn .19, 1 earns .05
    long_decay_words: float = 40.0  # as sigma_len of eq. 8
    # Share of words that are distinct. In 220 words of English prose it is .6 to .7, in fewer
    # words more; below .4 there were only tables and formulas.
    min_distinct_share: float = 0.4
    # Share of three-word sequences that stood earlier in the same reason; .02 in prose.
    max_repeated_share: float = 0.2
    # Distinct words that say something: no function word, no "the viewer feels", no label cue.
    min_specific_words: int = 3
    # Share of a reason's four-word sequences that stand in the prompt.
    max_prompt_share: float = 0.5


PAPER = PaperConstants()
HARDENED = HardenedConstants()

# Times are written with one decimal, so 2.7 to 3.1 must count as .4 s although the floats give
# .3999999999999999, and 1 s of 2 s as an IoU of exactly one half.
ROUNDING = 1e-9
