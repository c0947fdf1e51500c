"""From a model, or from replies that are there, to scores, judged reasons and a page.

    evaluate.py            all of it in one command
    predict.py             ask a model about every row; predictors/ are who can be asked
    foreign/               other systems' replies and annotations, taken in as they are
    predictions.py         the file of replies, and prediction_writer.py to resume it
    clips.py               rows and replies joined
    metrics/               protocols paper, released, strict; ratios; bootstrap. No torch, no files
    score.py, compare.py   commands; tables.py prints what they found
    analysis/, analyse.py  behind the means: emotions, confusions, boundaries, groups of clips
    judge/, human/         reasons rated by a model and by experts
    run_results.py         all that is known of one run, for report/ and paper_tables/
    suites/                benchmarks of others

Example: python -m evaluation.score --predictions runs/demo/predictions/test.jsonl --rows test.jsonl
"""
