"""Addresses, swizzles and regions: the one place that says which bytes an operand touches."""
