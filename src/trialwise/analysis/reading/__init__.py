"""Tables that others wrote: what a file is, its dialect, and the numbers and times in its columns."""
