"""The words of reasons that say how something feels: what is left when the others are taken out.

    >>> terms("The bright ball bounces, so the viewer feels joyful anticipation.")
    ['bright', 'bounces', 'joyful', 'anticipation']

Two lists are taken out, as for the paper's figure 3 (f), whose own lists are not published:
connectives (words that only join or point) and generic nouns and verbs of describing a video.
Emotion words, words of appraisal and words for how something looks remain. Letters only; a
hyphenated word is one word.
"""

import re

_WORD = re.compile(r"[a-z]+(?:['\u2019-][a-z]+)*")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_CONNECTIVES = _words(
    """
    a about above across after again against all almost along already also although always am among
    an and another any are aren't around as at away back be became because become becomes been
    before began begin begins behind being below beneath beside besides between beyond both but by
    can cannot can't could couldn't despite did didn't do does doesn't doing done don't down due
    during each either else enough even ever every few first for from further give given gives
    giving had has hasn't have haven't having he hence her here hers herself him himself his how
    however i if in indeed instead into is isn't it it's its itself just last later least less let
    lets like likely made make makes making many may me might mine more moreover most much must my
    myself near nearly neither never next no nobody none nor not nothing now of off often on once
    one ones only onto or other others our ours ourselves out over own per perhaps quite rather
    really same second see seems several shall she should shouldn't since so some somehow someone
    something sometimes somewhat soon still such than that that's the their theirs them themselves
    then there thereby therefore these they third this those though three through throughout thus
    till to together too toward towards two under until up upon us very via was wasn't way we well
    were weren't what whatever when where whereas which while who whole whom whose why will with
    within without won't would wouldn't yet you your yours yourself
    """
)

_GENERIC = _words(
    """
    act action actions activity appear appeared appearing appears area background bit camera cause
    caused causes causing change changed changes changing clip clips close-up come comes coming
    continue continued continues continuing create created creates creating cut cuts depict depicts
    detail details display displayed displays earlier element elements emotion emotional emotions
    end ended ending ends environment event events evoke evoked evokes evoking experience
    experiences feel feeling feelings feels felt final focus follow followed following follows
    foreground frame frames full get gets getting go goes going group happen happening happens hold
    holding holds image images individual individuals initial keep keeping keeps kind lead leading
    leads leave leaves leaving left long look looked looking looks man men moment moments move
    moved movement movements moves moving object objects observe observer part people person phase
    picture pictures piece place point present presence presented presents previous prompt
    prompting prompts put puts reaction reason reflect reflects remain remains result results right
    round scene scenes screen seconds seen segment segments sequence series set setting shift
    shifted shifting shifts short shot shots show showed showing shown shows side sight sign
    situation start started starting starts state subject take taken takes taking thing things time
    times trigger triggered triggering triggers turn turned turning turns use used uses using video
    videos view viewed viewer viewer's viewers visible visual visually watch watched
    watches watching woman women work works
    """
)


def terms(text: str) -> list[str]:
    """The words that remain, in order, in lower case, with repetitions."""
    words = (match.group().replace("\u2019", "'") for match in _WORD.finditer(text.lower()))
    return [word for word in words if len(word) > 1 and word not in _STOPPED]


_STOPPED = _CONNECTIVES | _GENERIC
