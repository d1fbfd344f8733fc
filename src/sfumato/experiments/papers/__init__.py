"""The experiments of the founding papers, one file each."""
