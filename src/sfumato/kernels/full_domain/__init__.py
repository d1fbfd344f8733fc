"""Full-domain generalization: counting at levels."""
