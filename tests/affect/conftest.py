"""Hypothesis without per-example deadlines: a busy machine is no fault of the code.

Where time itself is the claim, the test measures it.
"""

from hypothesis import settings

settings.register_profile("no_deadline", deadline=None)
settings.load_profile("no_deadline")
