"""Kinds of trial: each a plug-in that executes one trial and says what came of it."""
