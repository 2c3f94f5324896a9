"""Congestion-control schemes: small declarative files, and what it takes to start them."""
