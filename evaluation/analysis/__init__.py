"""Behind the means: which emotions, which boundaries, which clips.

document.py   what an analysis holds, as it is written to analysis/NAME.json
"""
