"""Trials on machines that ssh reaches, several at once (docs/decisions/2026-11-21-workers.md)."""
