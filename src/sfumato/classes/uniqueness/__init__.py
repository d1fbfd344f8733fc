"""How many people of a population are unique in it, by the sizes of classes of a sample."""
