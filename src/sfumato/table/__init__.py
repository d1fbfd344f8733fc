"""Tables about people: roles, kinds, checked frames, and their encoding as integer codes."""
