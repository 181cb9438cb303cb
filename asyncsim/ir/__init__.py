"""The schedule language: declarations, expressions, ops, statements, and their text form."""
