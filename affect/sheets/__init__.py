"""Sheets on which people rate segments of silent videos, and their ratings read back.

`form` says what is asked, `items` what about, `write` makes the sheets, `ratings` reads them back,
`agreement` says how far raters agree.
"""
