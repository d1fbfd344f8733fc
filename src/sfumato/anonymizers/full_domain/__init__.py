"""Full-domain generalization: one level for each attribute, found in the lattice of all combinations."""
