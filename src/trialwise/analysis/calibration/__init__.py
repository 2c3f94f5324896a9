"""What a bench says of itself: a treatment against itself, so that everything found is noise."""
