"""Sets of items, one for each person: baskets, diagnoses, films seen."""
