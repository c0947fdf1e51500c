"""TSL-300: where a video's sentiment is positive or negative, outside the data we train on.

Example: `python -m evaluation.suites.tsl300 score --run runs/demo/grpo --name tsl --labels TSL300`
"""
