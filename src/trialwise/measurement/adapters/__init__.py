"""What makes programs that know nothing of measurement points stream: one file for each way to watch them."""
