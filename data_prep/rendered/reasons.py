"""The sentence that explains a segment: what is seen, what it means, which emotion follows.

Three wordings per emotion; the clip's seed picks one, and a clip never uses the same one twice.
Words are few on purpose (a small tokenizer shall learn them), 12 to 22 per reason.

Example:
    >>> write_reason("Fear", "triangle", wording=0)
    'A red triangle grows out of the dark and comes closer, there is no escape, so fear rises.'
"""

WORDINGS: dict[str, tuple[str, ...]] = {
    "Joy": (
        "An orange {shape} bounces high in warm light, the scene is playful and the viewer feels"
        " joy.",
        "In warm light the orange {shape} jumps up and down, nothing can go wrong, so joy grows.",
        "The orange {shape} keeps bouncing, light and free, and its play fills the viewer with"
        " joy.",
    ),
    "Surprise": (
        "An orange {shape} bursts open without warning, nothing had announced it, so the viewer"
        " feels surprise.",
        "All at once the orange {shape} is huge, then small again, and the sudden change brings"
        " surprise.",
        "The orange {shape} flashes large in warm light, nobody expected it, and surprise follows.",
    ),
    "Satisfaction": (
        "The open question gets its answer as an orange {shape} bursts open, so the viewer feels"
        " satisfaction.",
        "After the grey puzzle the orange {shape} flashes large, all makes sense now, and"
        " satisfaction follows.",
        "What was unclear before is shown at last, a huge orange {shape}, which gives"
        " satisfaction.",
    ),
    "Calmness": (
        "A blue {shape} drifts slowly across the pale sky, nothing hurries, and the viewer feels"
        " calmness.",
        "The blue {shape} glides from side to side, the pace is slow, so calmness settles in.",
        "Under a pale sky the blue {shape} moves gently, all is quiet, which brings calmness.",
    ),
    "Relief": (
        "The red threat is gone and a blue {shape} drifts slowly, the danger is over, so relief"
        " comes.",
        "After the dark scene a blue {shape} glides in pale light, safe again, and the viewer"
        " feels relief.",
        "Nothing red is left, only a blue {shape} moving gently, and the end of danger brings"
        " relief.",
    ),
    "Sadness": (
        "A blue {shape} sinks slowly and fades, nobody holds it, and the loss brings sadness.",
        "The blue {shape} falls away and gets small, it seems alone, so the viewer feels sadness.",
        "Down and down goes the blue {shape}, nothing stops it, and sadness settles in.",
    ),
    "Fear": (
        "A red {shape} grows out of the dark and comes closer, there is no escape, so fear rises.",
        "In the dark the red {shape} rushes at the viewer, it is a threat, which brings fear.",
        "The red {shape} gets large against the dark, danger comes near, and the viewer feels"
        " fear.",
    ),
    "Anger": (
        "A red {shape} shakes hard in the dark, its force looks hostile, and the viewer feels"
        " anger.",
        "The red {shape} beats wildly against the dark, it attacks without cause, so anger rises.",
        "Dark all around, a red {shape} strikes left and right, which is unfair and brings anger.",
    ),
    "Boredom": (
        "A white {shape} stands still on grey, nothing happens, so the viewer feels boredom.",
        "The white {shape} stays where it is, grey and quiet, no change comes, and boredom"
        " settles in.",
        "Only grey and a white {shape} that never moves, there is no story, which brings boredom.",
    ),
    "Confusion": (
        "A white {shape} jumps about on grey without order, no sense appears, so confusion grows.",
        "The white {shape} shakes here and there, its aim is unclear, and the viewer feels"
        " confusion.",
        "Left, right, up, down goes the white {shape} on grey, without aim, which brings"
        " confusion.",
    ),
    "Interest": (
        "A white {shape} comes closer on grey, it may show something new, so interest grows.",
        "Out of the grey the white {shape} gets large, what is it, and the viewer feels interest.",
        "The white {shape} grows on grey as if to show something, and the question wakes interest.",
    ),
}

NUM_WORDINGS = 3


def write_reason(emotion: str, shape: str, wording: int) -> str:
    """The reason for a segment of `emotion` in which `shape` was drawn.

    Raises KeyError for an emotion outside the grammar and IndexError for a wording that is not
    there: both would be a mistake of the generator.
    """
    return WORDINGS[emotion][wording].format(shape=shape)
