"""Who answers: a checkpoint through transformers or vLLM, or a model on a server.

predictor.py   what all of them offer
local.py       transformers, batched

All take the same rows, frame budget and prompt, and leave replies as they came.
"""
