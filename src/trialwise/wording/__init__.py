"""Sentences about results: analysis has numbers and codes, and the words for them stand here, for reports and for JSON."""
