"""Other people's files: a system's replies as predictions, and annotations as rows.

json_entries.py  JSON and JSON Lines, entry by entry, with each value's own text
csv_table.py     CSV and TSV, line by line
replies.py       which row an entry means and what it replies
row_matching.py  an id, a path or a file name as one of our rows
importing.py     a whole file of replies, twice read and once written
annotations.py   somebody's segments as annotated rows

Nothing is repaired or guessed: what is ambiguous is refused by file and line.
"""
