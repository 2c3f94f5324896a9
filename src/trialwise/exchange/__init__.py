"""Exchange: import, export, packing, verifying; uses the experiment, the store and the results of analysis."""
