"""The five dimensions on which a judge, or a person, rates why a viewer feels something.

    [short_name(name) for name in JUDGE_DIMENSIONS]      # ['VG', 'CL', 'VC', 'TC', 'AC']

Each is a whole number from 0 to 5 (paper, section 3.4, appendix I and the heads of tables 2 and 3).
"""

JUDGE_DIMENSIONS = (
    "visual_grounding", "causal_logic", "viewer_centricity", "temporal_consistency",
    "answer_consistency",
)  # fmt: skip

MIN_SCORE, MAX_SCORE = 0, 5


def short_name(dimension: str) -> str:
    """`VG` for `visual_grounding`, as the paper's tables are headed."""
    return "".join(word[0] for word in dimension.split("_")).upper()
