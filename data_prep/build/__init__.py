"""The data builder as a command: journal, engines, status (`dar build`)."""
