"""Documents in each medium: one module for each, and the only places that escape, wrap, fold or cut short."""
