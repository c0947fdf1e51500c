"""Describe: each segment by what changed against the one before it.

    Description(span=Span(3.2, 5.28), text="The bird takes off ...", entities=("bird", "puddle"))

Section 3.3 of the paper, stage 2. D_i is written from the pictures of S_i and from D_(i-1) alone;
D_0 is empty, and the first question says so.
"""

from affect.llm.chat import Models
from data_prep.build.config import DescribeSection
from data_prep.clip import Clip
from data_prep.records import Described, Description, Verified
from data_prep.stages.differential import describe_span
from data_prep.stages.stage import stage


@stage(prompts=("build_describe",), roles=("describe",))
async def describe(
    clip: Clip, verified: Verified, settings: DescribeSection, models: Models
) -> Described:
    """One description per span, one after the other.

    Raises StageFailure (`frames_lost`) and ModelFailure.
    """
    assert verified.spans
    duration_seconds = verified.spans[-1].end_seconds
    descriptions: list[Description] = []
    author = ""
    for number, span in enumerate(verified.spans, 1):
        before = descriptions[-1] if descriptions else None
        description, author = await describe_span(
            number, span, duration_seconds, before, clip, settings, models
        )
        descriptions.append(description)
    return Described(descriptions=tuple(descriptions), author=author)
