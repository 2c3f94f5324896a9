"""How like an emulated path is to a real one: what of the real path is identified from its packets, and the verdicts on schemes."""
