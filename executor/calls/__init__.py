"""One call: its token, its state, its outcome."""
