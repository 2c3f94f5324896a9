"""Whether measuring changes what is measured: flavours of one thing against the base among them, at each load."""
