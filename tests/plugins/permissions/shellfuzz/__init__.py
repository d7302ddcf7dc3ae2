"""
Shell scripts at random, judged by the example policy; those that it allows are run in bash against stubs.

What runs is then judged again, word by word: whatever no rule allows, every file that changes, and every word that was
read as another is a fault of the reader.
"""
