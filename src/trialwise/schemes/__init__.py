"""Congestion-control schemes: a sender and a receiver under one congestion control."""
