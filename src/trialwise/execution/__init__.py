"""Execution: carries out a plan trial by trial and writes facts into the store."""
