"""Collection beside a trial: what programs report, where they ran, and what disturbed them."""
