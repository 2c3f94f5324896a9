"""Services beside the trials: started, watched and ended."""
