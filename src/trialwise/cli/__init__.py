"""The command line: one file for each command; it alone prints and exits."""
