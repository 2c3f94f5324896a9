"""One module for each format, or family of formats of one tool; each declares its readers in `READERS`."""
