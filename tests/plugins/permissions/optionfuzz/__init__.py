"""
Random arguments for real programs: what a wildcard is said to cover is run, with a watch on the folder.

The long form: ``python -m tests.plugins.permissions.optionfuzz --seed 1 --count 1000000 --part 2/8``.
"""
