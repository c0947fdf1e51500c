"""Checking rows and their videos before anything trains on them: `dar validate FILE`."""
