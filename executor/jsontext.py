"""
JSON as the library reads it (strictly), and any value as text.

For plugins and hosts that take arguments from people or models and want the same errors for the same mistakes.
"""

from executor._json import MAX_DEPTH, copy_arguments, parse, to_text

__all__ = ["MAX_DEPTH", "copy_arguments", "parse", "to_text"]
