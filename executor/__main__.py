"""``python -m executor`` is the ``toolexec`` command."""

from executor.cli import main

if __name__ == "__main__":
    main()
