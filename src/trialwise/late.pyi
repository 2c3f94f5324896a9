import polars as pl

from trialwise import special

__all__ = ["pl", "special"]
