"""Whether the order of trials changes what they measure."""
