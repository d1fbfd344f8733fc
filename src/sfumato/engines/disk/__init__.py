"""The engine of one machine and its disk: values counted first, codes and distinct records in files, parts written."""
