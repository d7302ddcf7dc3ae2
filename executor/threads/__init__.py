"""Workers, deadlines, the loop thread, forks."""
