"""The end of a build: rows in three splits without leaks, statistics, a folder for `datasets`.

    export_build(folder.export, finished_videos(folder, config), root, config.export, config.seed)

`export.py` reads like the whole; each other file is one step of it. Sheets for human experts to
rate an export with, and what they say, are here, too (`human_validation.py`).
"""
