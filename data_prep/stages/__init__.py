"""The stages of the data builder in their order, as in section 3 of the paper.

    stages_for("models")        # look, select, propose, snap, verify, ..., judge, decide
    stages_for("offline")       # look, select, draft: from the picture alone

Each is a function from typed inputs to one record (`data_prep.stages.stage`); what is new in the
next one's inputs is what the one before it found.
"""

from collections.abc import Sequence

from data_prep.records import Record
from data_prep.stages.decide import decide
from data_prep.stages.describe import describe
from data_prep.stages.draft import draft
from data_prep.stages.ground import ground
from data_prep.stages.judge import judge
from data_prep.stages.look import look
from data_prep.stages.propose import propose
from data_prep.stages.reason import reason
from data_prep.stages.select import select
from data_prep.stages.snap import snap
from data_prep.stages.stage import Stage
from data_prep.stages.tag import tag
from data_prep.stages.truth import truth
from data_prep.stages.verify import verify

STAGES: tuple[Stage, ...] = (
    look,  # one decode: duration, motion, cuts, frames for the models
    select,  # 3.2: long enough, and it moves
    propose,  # 3.3: events, where the narrative turns
    snap,  # boundaries onto the visual cuts beside them
    verify,  # the segments that met no cut are whole
    describe,  # what changes from one segment to the next
    ground,  # what is named is seen
    tag,  # appendix C: genre and scene
    reason,  # evidence, appraisal, trigger; one of four pairs
    judge,  # 3.4: twice, on five dimensions
    decide,  # both let it pass, or it goes back, or it is rejected
)

OFFLINE_STAGES: tuple[Stage, ...] = (look, select, draft)
RENDERED_STAGES: tuple[Stage, ...] = (look, select, truth)


def stages_for(annotator: str) -> tuple[Stage, ...]:
    """annotator: of the configuration (`models`, `offline`, `rendered`)."""
    return {"models": STAGES, "offline": OFFLINE_STAGES, "rendered": RENDERED_STAGES}[annotator]


def check_order(stages: Sequence[Stage]) -> None:
    """AssertionError unless every record that a stage reads is made by one before it, once."""
    made: set[type[Record]] = set()
    for stage in stages:
        missing = [kind.__name__ for kind in stage.needs if kind not in made]
        assert not missing, f"{stage.name} reads {', '.join(missing)}, which no earlier stage makes"
        assert stage.record not in made, f"{stage.name} makes a {stage.record.__name__} again"
        made.add(stage.record)
    assert len({stage.name for stage in stages}) == len(stages), stages


for _stages in (STAGES, OFFLINE_STAGES, RENDERED_STAGES):
    check_order(_stages)
