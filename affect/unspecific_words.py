"""Words that say nothing of a particular clip: of any reason about any video they may be part.

    "viewer" in UNSPECIFIC_WORDS, "lantern" in UNSPECIFIC_WORDS      # (True, False)

Rewards and judging both ask whether a reason has words of its own; they share this list.
"""

# Function words, and the words that any reason about any video can be made of.
_TEXT = """
    a about after again all also always an and another any are around as at away back be became
    because become becomes been before being below between both but by can could did do does doing
    done down during each either else even ever every few first for from further gets give gives
    going had has have having he her here hers him his how i if in into is it its itself just last
    least less like made make makes making many may me might more most much must my neither never
    next no nor not nothing now of off often on once one only onto or other our out over own quite
    rather really s same second see seen several shall she should since so some something still
    such t than that the their them then there these they thing things third this those through
    thus to together too toward towards two under until up upon us very was way we well were what
    when where whether which while who whole whom whose why will with within without would yet you
    your
    audience clip creates emotion emotional emotionally emotions evoke evokes feel feeling feelings
    feels felt frame image images moment mood part person people picture reaction response scene
    scenes segment segments sense show showing shown shows spectator time video viewer viewer's
    viewers visual watch watches watching
"""

UNSPECIFIC_WORDS = frozenset(_TEXT.split())
"""Lower case, with the inner apostrophe of "viewer's"."""
