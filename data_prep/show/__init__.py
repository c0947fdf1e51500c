"""One video of a build, told through all stages: what `dar build show` prints and draws.

story.py     journal and frames of one video, found by its name
table.py     a table of plain texts
tables.py    the story -> tables, stage by stage
judging.py   the tables of reasons, judges and the decision
axis.py      boundaries and segments over time, as SVG
page.py      all of it as one HTML file
"""
