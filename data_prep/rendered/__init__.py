"""A small world of drawn clips, for checking the pipeline; not a benchmark.

Each clip is 4 to 8 seconds of one large shape on a plain background. What its palette, its motion
and, for two pairs of emotions, the scene before it are decides the emotion that the ground truth
names (`grammar.py`). The labels are a convention of this generator. No person was asked what they
felt, so a score on this world says that training, parsing, rewards and metrics work together, and
nothing about how well a model reads real viewers.

    grammar.py    palettes, motions, scenes; which emotion a scene has after which
    reasons.py    the sentences that explain a segment
    plan.py       everything random about one clip, from (seed, split, index)
    drawing.py    a plan -> frames
    encoding.py   frames -> an H.264 file
    rows.py       a plan -> a row; `sample_rows` gives rows without drawing
    world.py      a folder of clips and row files, resumable
    sheet.py      a picture of many clips, to look at
    __main__.py   the command

Example:
    python -m data_prep.rendered --out data/rendered --train 360 --dev 100 --test 100 --seed 0
"""
