"""Behind the means: which emotions, which boundaries, which clips.

document.py     what an analysis holds, as it is written to analysis/NAME.json
analyse.py      one protocol's view of one file of predictions
emotions.py, confusion.py, transitions.py, boundaries.py, breakdowns.py    its parts
tables.py       the same as tables to read

`python -m evaluation.analyse` writes it. Example: `analyse(truths, clips).emotions[0].recall`
"""
