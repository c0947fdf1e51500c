"""What experts are asked about each predicted segment: the five dimensions of the judges, 0 to 5.

    FORM.questions["causal_logic"]     # "Does the reason explain why ..."

The wording is ours, after the definitions of the paper's appendix I, so that what people rate is
what `judge_paper` is asked for.
"""

from affect.judge_dimensions import JUDGE_DIMENSIONS, MAX_SCORE, MIN_SCORE
from affect.sheets.form import Form

FORM = Form(
    name="human evaluation",
    title="Rating sheet",
    task="Systems were shown silent videos and said, for one stretch of time after the other, "
    "which emotion somebody who watches would feel, and why. Watch each video whole first, then "
    "rate each segment of each answer on its own. Answers to one video come from different "
    "systems, in an order that is drawn anew for each video.",
    questions={
        "visual_grounding": "Is what the reason points to really to be seen in this segment?",
        "causal_logic": "Does the reason explain why what is seen would bring this feeling about?",
        "viewer_centricity": "Is it about the feeling of whoever watches, not of somebody shown?",
        "temporal_consistency": "Does it fit this stretch of time, and what came before it?",
        "answer_consistency": "Do the emotion and the reason fit each other?",
    },
    hints={
        "visual_grounding": "Objects, actions and changes that it cites are there, between the "
        "segment's begin and end. Invented ones, and ones from elsewhere, count against it.",
        "causal_logic": "From what happens to what is felt there is a comprehensible step. A mere "
        "description, or a feeling that would not follow, counts against it.",
        "viewer_centricity": "What a person in the video feels or shows may be a cause, but is "
        "not the answer.",
        "temporal_consistency": "The reason rests on this segment; where there is one before, the "
        "change of feeling between the two makes sense.",
        "answer_consistency": "Somebody who reads only the reason would name this emotion, or one "
        "close to it.",
    },
    scale={
        0: "invalid, or beside the point",
        1: "mostly wrong",
        2: "right in little",
        3: "right in part",
        4: "mostly right",
        5: "right throughout",
    },
    has_answers=True,
)

assert tuple(FORM.questions) == JUDGE_DIMENSIONS
assert (FORM.ratings[0], FORM.ratings[-1]) == (MIN_SCORE, MAX_SCORE)
