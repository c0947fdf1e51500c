"""Drafts of timelines from the picture alone: no model is asked, nobody has verified them.

    measures.py     the kept frames -> brightness, contrast, saturation, warmth, motion
    boundaries.py   cuts, fades and large changes -> where a draft's segments meet
    rules.py        measures -> words -> one of a few emotions, by a table

The stage is `data_prep.stages.draft`. A draft is a start for a person who annotates, not a label.
"""
