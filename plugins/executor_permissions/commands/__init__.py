"""The commands of ``toolexec permissions``."""
