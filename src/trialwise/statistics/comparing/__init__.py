"""One sample against another: differences, equivalence, ranks, many comparisons at once."""
