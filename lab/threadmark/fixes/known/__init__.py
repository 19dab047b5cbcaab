"""One file for each fix, with an instance FIX. Nothing else names them."""
