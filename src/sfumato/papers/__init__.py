"""The experiments of the founding papers, and the demo."""
