"""What a shell command says: two readings of bash that have to agree, its words, and what they become."""
