"""Claims against data: what supports them, what contradicts them, and what is still open."""
