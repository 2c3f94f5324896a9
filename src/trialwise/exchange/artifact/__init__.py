"""Artifacts: experiment directories packed for others, with what they need to check the claims."""
