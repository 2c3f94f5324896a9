"""Congestion-control schemes: small declarative files, and what is needed to start them."""
