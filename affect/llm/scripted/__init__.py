"""Scripted servers: real HTTP in the wire formats of real ones, replies written by a function."""
