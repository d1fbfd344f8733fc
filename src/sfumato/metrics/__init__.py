"""Information loss and utility, one file per family."""
