"""Human evaluation of reasons (paper, table 3): sheets out, ratings in, experts beside judges.

`results` is what the ratings come to; `__main__` is the command.
"""
