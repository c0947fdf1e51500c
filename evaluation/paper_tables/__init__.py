"""Tables over a list of runs, laid out as the paper's tables 2, 3, 5, 6 and 7.

Example: `python -m evaluation.paper_tables --config configs/tables/demo.yaml --out tables/demo`
"""
