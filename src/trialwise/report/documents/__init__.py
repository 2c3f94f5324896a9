"""What each result says, as a document; one module for each kind of result."""
