"""Reads files that other tools wrote: what was measured, of which unit of replication, and what the file cannot say.

`content` opens a file, `register` recognises its format, a module of `formats` turns it into the records of `records`, and `tables`
reads text and Parquet with columns. Nothing here computes a statistic, prints, or knows an experiment.
"""
