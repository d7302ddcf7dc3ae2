"""What is kept in files: policies, grants, and the folders that are trusted."""
