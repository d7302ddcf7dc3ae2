"""What git tracks, runs and shows, read from its own files and from the words of its commands."""
