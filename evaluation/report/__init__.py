"""One page about runs: sections of numbers and plots, and a browser of every clip.

sections.py     the sections, from headline.py to provenance.py; contents.py is what they hold
draw.py         plots as SVG for the page, as PNG for trackers (tracker.py)
examples.py     what the browser of examples needs, as compact JSON
page.py         all of it with styles and scripts (*.css, *.js) in one file

Example: `python -m evaluation.report runs/demo/sft runs/demo/grpo --out report.html`
"""
