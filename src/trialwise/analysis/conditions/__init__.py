"""Conditions over time: profiles and timescales."""
