"""What one decode pass tells of a clip's picture: hash, flow, stillness, cuts, frames for models.

    record = look_at("clip.mp4", PictureSection().model_dump_json(), "build/frames/0a1b.zip")
    Looked.from_json(record).cuts        # (Cut(time_seconds=3.0, kind="cut"), ...)

Each purpose is a small class that sees every frame once (`see`); `one_pass.py` shows all of them
the same decode. `data_prep.picture.fingerprint` compares clips and imports nothing heavy.
"""
