"""What else of a machine may change results: facts by dotted name, each read once from the kernel's own files."""
