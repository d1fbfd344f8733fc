"""Making ratings anonymous."""
