"""Tests of samples: independence, trends, shape."""
