"""Methods that randomize single values or draw records, and promise no privacy model."""
