"""The store: the experiment directory, its ledger and its samples. Facts only."""
