"""Asking: the question, who is asked, and what becomes of the answer."""
