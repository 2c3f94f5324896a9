"""The experiment file: its structure, how it is read and checked, and the messages about problems."""
