"""Sets of items as compressed rows: counting what occurs together."""
