"""Judging: what a policy says about a call, from the tool's name and its arguments alone."""
