"""Rates, delays and losses as a link of a path has them."""

from __future__ import annotations


def rate_words(rate: float, *, poisson: bool = False) -> str:
    """Write a rate in bit/s, constant or as the mean of a Poisson process."""
    text = f"{rate / 1e6:.8g}Mbit/s"
    return f"poisson:rate={text}" if poisson else text


def delay_words(seconds: float) -> str:
    """Write a delay."""
    return f"{seconds * 1e3:.6g}ms"


def loss_words(share: float, leaves: float | None = None) -> str:
    """Write a share of packets that are lost, independently or in runs that end with probability `leaves` after each packet."""
    if leaves is None:
        return f"{100 * share:.6g}%"
    enters = share * leaves / (1 - share)
    return f"gilbert-elliott:to_bad={100 * enters:.6g}%,to_good={100 * leaves:.6g}%"
