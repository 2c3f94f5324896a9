"""Analysis: statistics applied to a store. It reads facts, runs nothing and prints nothing."""
