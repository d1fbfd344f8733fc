"""Cell suppression: single values are starred, the others published as they are."""
