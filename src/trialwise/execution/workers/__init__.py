"""Trials on machines that ssh reaches, several in parallel (docs/decisions/2026-11-21-workers.md)."""
