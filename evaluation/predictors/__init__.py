"""Who answers: a checkpoint through transformers or vLLM, or a model on a server.

predictor.py       what all of them offer
local.py           transformers, batched
vllm_offline.py    vLLM's engine in this process
server.py          OpenAI-compatible servers and Gemini
opening.py         the one that a command's options ask for

All take the same rows, frame budget and prompt, and leave replies as they came.
"""
