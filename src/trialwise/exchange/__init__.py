"""Exchange: import, export, pack and verify; uses the experiment, the store and the results of analysis."""
