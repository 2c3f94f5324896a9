"""Reading of foreign tables: file types, dialects, and the numbers and times in their columns."""
