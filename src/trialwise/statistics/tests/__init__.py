"""What samples are tested for: independence, trends, shape."""
