"""Paths, other texts, and patterns for them: what they mean, and where they lead."""
