// The report's data, read once from the page, with names for the places of its compact arrays.
//
//   CLIPS[0].truth[1].emotion           "Joy"
//   CLIPS[0].answers[2].kinds           ["wrong_label", "too_many"]
//
// A segment of an answer has a `state`: right, wrong (label), loose (right label, tIoU below .5),
// extra (no partner) or unscored (the reply is no strict timeline). What was not scored has the
// score null, which is never taken for 0.

const DATA = JSON.parse(document.getElementById("data").textContent);
const NOTHING = -1;
const RUNS = DATA.runs;
const KINDS = DATA.kinds.map(([name, words, meaning], place) => ({
  name, words, meaning, bit: 1 << place,
}));

const textAt = (place) => (place === NOTHING ? "" : DATA.texts[place]);
const tagAt = (place) => (place === NOTHING ? "" : DATA.tags[place]);

function readSegment([start, end, label, reason], place) {
  return {
    start, end, label, place,
    emotion: label === NOTHING ? "(blank)" : DATA.labels[label],
    color: label === NOTHING ? "#cfcfd4" : DATA.colors[label],
    reason: textAt(reason), reasonPlace: reason,
  };
}

function readAnswer([bits, tiou, accuracy, segments, pairs, more], truth, run) {
  const read = segments.map(readSegment);
  const answer = {
    run, bits, tiou, accuracy, more, pairs,
    kinds: KINDS.filter((kind) => bits & kind.bit).map((kind) => kind.name),
    segments: read, scored: tiou !== null, partners: truth.map(() => null),
  };
  for (const segment of read) {
    segment.state = answer.scored ? "extra" : "unscored";
    segment.partner = null;
    segment.tiou = null;
  }
  for (const [one, other, overlap] of pairs) {
    if (one === NOTHING || other === NOTHING) continue;
    const segment = read[other];
    segment.partner = truth[one];
    segment.tiou = overlap;
    answer.partners[one] = segment;
    // A millionth, because a tIoU of .5 on paper may be a hair less as a float.
    const meets = overlap >= DATA.good_tiou - 1e-6;
    segment.state = segment.label !== truth[one].label ? "wrong" : meets ? "right" : "loose";
  }
  return answer;
}

function readClip([id, url, problem, duration, genre, scene, source, truth, answers], place) {
  const segments = truth.map(readSegment);
  return {
    id, url, duration, genre, scene, source, place,
    problem: textAt(problem), truth: segments,
    answers: answers.map((answer, run) => readAnswer(answer, segments, run)),
  };
}

const CLIPS = DATA.clips.map(readClip);

// What a mark before a label means: colour and hatch never stand alone.
const STATES = {
  right: { mark: "✓", words: "right" },
  wrong: { mark: "✗", words: "wrong label" },
  loose: { mark: "≈", words: "right label, tIoU below .5" },
  extra: { mark: "+", words: "extra segment" },
  unscored: { mark: "?", words: "not scored" },
};

// "unparsed", "missing" or "" of an answer.
const failureOf = (answer) => (answer.scored ? "" : answer.kinds[0]);

const segmentAt = (segments, time) =>
  segments.find((one) => one.start <= time && time < one.end) || null;

function twoDigits(value) {
  return value.toFixed(2);
}

function secondsText(value) {
  return value.toFixed(1);
}
