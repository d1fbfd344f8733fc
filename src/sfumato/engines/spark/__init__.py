"""The engine of a Spark cluster: records counted there, classes found here by the unchanged algorithms."""
