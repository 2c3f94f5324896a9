"""The store: the experiment directory, its ledger and its samples. It holds facts only."""
