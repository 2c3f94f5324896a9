"""The experiment file: what stands where in it, how it is read and checked, and what is said where it is wrong."""
