"""Effects of the factors of an experiment, alone and in interaction, and their sizes."""
