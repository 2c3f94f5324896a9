"""A page that shows experiments while they run and after: loopback only, read-only, and asleep while nothing comes."""
