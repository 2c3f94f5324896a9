"""From experiment directories to an artifact, and from an artifact to what it still says."""
