"""One function for each table and figure, and what they share."""
