"""The schedule language: frozen declarations, expressions, ops, statements. No reader lives here."""
