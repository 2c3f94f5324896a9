"""Rare events: importance sampling and cross entropy."""
