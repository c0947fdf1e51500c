"""Judges of reasons: a model rates each predicted emotion and its reason on five dimensions.

judgements.py   the files that judging leaves: one line per segment, and the scores

Two judges that are never mixed: `judge_paper` (appendix I, verbatim) and `judge_hardened` (ours).
"""
