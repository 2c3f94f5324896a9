"""Analysis: statistics applied to a store. Reads facts, runs nothing, prints nothing."""
