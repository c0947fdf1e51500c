"""The label sets of the four sources, each written down once, and the words that show a feeling.

DAR, and with it this project, names what a *viewer* feels by one of 27 emotions:

    >>> canonical_dar_emotion("Awe")
    'Awe (or Wonder)'
    >>> canonical_dar_emotion("happy") is None
    True
    >>> speaks_of("the viewer laughs at the bird's wounded dignity", "Amusement")
    True

The other sets belong to the benchmarks beside it and are never mixed with DAR's.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType

DAR_EMOTIONS: tuple[str, ...] = (
    "Admiration",
    "Adoration",
    "Aesthetic Appreciation",
    "Amusement",
    "Anger",
    "Anxiety",
    "Awe (or Wonder)",
    "Awkwardness",
    "Boredom",
    "Calmness",
    "Confusion",
    "Craving",
    "Disgust",
    "Empathic Pain",
    "Entrancement",
    "Excitement",
    "Fear",
    "Horror",
    "Interest",
    "Joy",
    "Nostalgia",
    "Relief",
    "Romance",
    "Sadness",
    "Satisfaction",
    "Sexual Desire",
    "Surprise",
)
"""DAR's 27 in the spelling and alphabetical order of the released labels (VCE's)."""

DAR_SPELLINGS: Mapping[str, str] = MappingProxyType(
    {emotion: emotion for emotion in DAR_EMOTIONS} | {"Awe": "Awe (or Wonder)"}
)
"""Every spelling that the sources use for the 27, mapped to the canonical one.

The paper's list (section 5.1) has "Awe" where the released labels have "Awe (or Wonder)".
"""

EMOTRANS_EMOTIONS: tuple[str, ...] = (
    "Happiness",
    "Sadness",
    "Anger",
    "Fear",
    "Disgust",
    "Surprise",
    "Neutral",
)
"""EmoTrans: what a person in the clip shows at its begin and at its end."""

MTMEUR_EMOTIONS: tuple[str, ...] = (
    "angry",
    "excited",
    "fear",
    "happy",
    "sad",
    "disgust",
    "surprise",
)
"""MTMEUR: the seven categories of its videos, spelt as its text spells them."""

EMOTIC_EMOTIONS: tuple[str, ...] = (
    "affection",
    "anger",
    "annoyance",
    "anticipation",
    "aversion",
    "confidence",
    "disapproval",
    "disconnection",
    "disquietment",
    "doubt/confusion",
    "embarrassment",
    "engagement",
    "esteem",
    "excitement",
    "fatigue",
    "fear",
    "happiness",
    "pain",
    "peace",
    "pleasure",
    "sadness",
    "sensitivity",
    "suffering",
    "surprise",
    "sympathy",
    "yearning",
)
"""EMOTIC's 26 as LongEmoBench writes them: lower case; "doubt/confusion" is one label."""


def canonical_dar_emotion(text: str) -> str | None:
    """Return the canonical spelling of one of DAR's 27, or None for any other text.

    Exact on purpose: no trimming, no case folding, no nearest match, because a label that is
    guessed from a wrong word would be scored as if the model had known it. A caller who wants
    to be more forgiving does it before, in the open.
    """
    return DAR_SPELLINGS.get(text)


def _stems(words: str) -> frozenset[str]:
    return frozenset(words.split())


DAR_AFFECT_CUES: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "Admiration": _stems(
            "admir respect esteem impressed impressive skil master talent exempl heroi hero brave"
            " courag applau prais virtuos gifted dedicat honor honour"
        ),
        "Adoration": _stems(
            "ador cute cuddl lov affection tender fond cherish endear sweet darling precious dear"
            " heartwarm melt charm"
        ),
        "Aesthetic Appreciation": _stems(
            "aesthetic apprecia beaut lovel elegan grace harmon pictures scenic composition"
            " exquisit pretty artist artful gorgeous stunning pleasing"
        ),
        "Amusement": _stems(
            "amus laugh comic comed funn humor humour joke joking hilari playful silly slapstick"
            " giggl chuckl smil grin absurd ridicul witty goof prank mischie entertain"
        ),
        "Anger": _stems(
            "anger angr fury furi rage raging outrag irritat resent indign hostil madden annoy"
            " infuriat injust unfair offend wrath"
        ),
        "Anxiety": _stems(
            "anxi worr nervous uneas tense tension apprehens dread stress restless unsettl"
            " forebod fret disquiet suspens precarious jitter"
        ),
        "Awe (or Wonder)": _stems(
            "awe wonder marvel majest grandeur grandios sublime magnific breathtak overwhelm vast"
            " immens astonish astound amaz rever tower spectac"
        ),
        "Awkwardness": _stems(
            "awkward embarrass cring uncomfort discomfort clums self-conscious ungainly blush"
            " stilted mortif sheepish gauche squirm unease"
        ),
        "Boredom": _stems(
            "bored boring monoton tedi dull repetit repeat uneventful dreary dragg listless weary"
            " wearis disinterest indifferen predict yawn humdrum wander empty"
        ),
        "Calmness": _stems(
            "calm peace seren tranquil relax sooth quiet still restful gentl unhurr placid mellow"
            " ease easy soft"
        ),
        "Confusion": _stems(
            "confus puzzl bewild perplex baffl disorient unclear unsure uncertain mystif muddl"
            " incoheren lost senseless ambig incomprehens"
        ),
        "Craving": _stems(
            "crav hunger hungr appeti delicious tempt mouthwater mouth-water yearn longing tast"
            " savor savour thirst yumm want eager desir"
        ),
        "Disgust": _stems(
            "disgust revol repuls repel gross nause sicken loath vile foul aversi distast filth"
            " repugn yuck queas"
        ),
        "Empathic Pain": _stems(
            "empath pain hurt winc ache aching suffer agon compassion sympath flinch sore wound"
            " injur anguish vicarious"
        ),
        "Entrancement": _stems(
            "entranc mesmer hypno spellb capti enthral transfix absor rapt immers trance fixat"
            " riveted enchant bewitch lull"
        ),
        "Excitement": _stems(
            "excit thrill exhilar adrenal energ electrif rush eager exult vibrant fever anticip"
            " stirr arous lively"
        ),
        "Fear": _stems(
            "fear afraid scare scari scary fright terrif terror threat danger peril alarm panic"
            " dread menac startl shiver"
        ),
        "Horror": _stems(
            "horr terror terrif grues grisl ghast macabre gore gory nightmar dread shock appall"
            " monstr hideous blood atroc"
        ),
        "Interest": _stems(
            "interest curio intrigu attent attend engag focus absor fascinat expect anticipat"
            " question eager keen inquisit lean explor investigat"
        ),
        "Joy": _stems(
            "joy happi happy delight glad cheer elat jubil bliss gleeful glee merr radian uplift"
            " celebrat exuber smil pleas"
        ),
        "Nostalgia": _stems(
            "nostalg memor remember reminis childhood wistful bygone old-fashioned sentimental"
            " yesteryear longing recollect retro vintage"
        ),
        "Relief": _stems(
            "relie reassur exhale sigh unburden safe safety comfort calm ease releas relax"
            " averted spared rescue"
        ),
        "Romance": _stems(
            "romanc romantic love lovi kiss tender intima passion affection sweetheart courtship"
            " woo enamo embrac flirt"
        ),
        "Sadness": _stems(
            "sad sorrow grie melanchol mourn lonel despair tears tearf heartbr gloom unhapp bleak"
            " dejec wist somber sombre loss pity crying weep wept"
        ),
        "Satisfaction": _stems(
            "satisf content gratif fulfil complet accomplish achiev reward pleas success proud"
            " pride resolv closure"
        ),
        "Sexual Desire": _stems(
            "sexual sex desir erotic sensual seduc arous lust attract allur sultry intima"
            " provocat passion"
        ),
        "Surprise": _stems(
            "surpris unexpect sudden astonish amaz startl shock stun unforeseen abrupt astound"
            " unpredict gasp jolt"
        ),
    }
)
"""For each of the 27, beginnings of lower-case words by which a text speaks of that feeling.

Generous on purpose: it tells a reason that names or paraphrases its feeling from filler that
names none. It does not tell neighbouring feelings apart, and some stems stand in two sets.
"""

_WORD = re.compile(r"[a-z]+(?:['\u2019-][a-z]+)*")

_STEMS = {emotion: tuple(sorted(stems)) for emotion, stems in DAR_AFFECT_CUES.items()}


def speaks_of(text: str, emotion: str) -> bool:
    """Tell whether a word of `text` begins with one of the emotion's stems.

    A hyphenated word counts as a whole and by its parts ("mouth-watering", "fun-loving").
    Raises ValueError when `emotion` is no spelling of the 27.
    """
    canonical = canonical_dar_emotion(emotion)
    if canonical is None:
        raise ValueError(f"{emotion!r} is not one of DAR's 27 emotions")
    lowered = text.lower()
    stems = tuple([stem for stem in _STEMS[canonical] if stem in lowered])
    if not stems:
        return False
    for match in _WORD.finditer(lowered):
        word = match.group()
        if word.startswith(stems):
            return True
        if "-" in word and any(part.startswith(stems) for part in word.split("-")):
            return True
    return False
