"""The recount of each kind of release, from published values alone. Nothing here knows which algorithm made them."""
