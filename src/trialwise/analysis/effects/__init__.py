"""Which factors of an experiment matter, alone and together, and by how much."""
