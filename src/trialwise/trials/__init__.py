"""Kinds of trial: plug-ins that each execute one trial and return its outcome."""
