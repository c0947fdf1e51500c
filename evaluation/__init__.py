"""From a checkpoint to scores: predict -> score -> compare, meeting through files.

    predict.py             ask a checkpoint about every row (predicting.py loop, local_model.py)
    checkpoint.py          which folder is meant, and the budget it was trained with
    predictions.py         the file of replies, and prediction_writer.py to resume it
    clips.py               rows and replies joined
    metrics/               protocols paper, released, strict; ratios; bootstrap. No torch, no files
    score.py, compare.py   commands; tables.py prints what they found

Example: python -m evaluation.score --predictions runs/demo/predictions/test.jsonl --rows test.jsonl
"""
