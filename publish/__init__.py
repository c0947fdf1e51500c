"""A trained run as a model folder that others can load, with a card from its score files."""
