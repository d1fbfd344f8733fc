"""The attack of somebody who knows a few items of a set."""
