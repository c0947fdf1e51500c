// What truth and runs say at the moment that plays: emotion, reason, partner, judges' scores, and
// what is wrong with a reply that is no timeline.
//
//   cardsOf(clip, playing)      // playing: a segment or null per lane, truth first

function judgeBars(judge, judgement) {
  const [, , state, scores, overall, comment, why] = judgement;
  const head = make("p", { class: "judge-name" }, make("bdi", {}, DATA.judges[judge]),
    make("span", { class: `state ${state}` },
      state === "judged" ? `overall ${overall}` : state));
  const bars = make("div", { class: "bars" });
  if (scores) {
    scores.forEach((value, place) => {
      const share = (100 * value) / DATA.max_score;
      bars.append(make("span", {
        class: "bar", title: `${DATA.dimension_names[place]}: ${value} of ${DATA.max_score}`,
      },
      make("span", { class: "bar-name" }, DATA.dimensions[place]),
      make("span", { class: "bar-value" }, String(value)),
      make("span", { class: "bar-track" }, make("i", { style: { width: `${share}%` } }))));
    });
  }
  const words = [textAt(why), textAt(comment)].filter((one) => one).join(" ");
  return make("div", { class: "judge" }, head, scores ? bars : null,
    words ? make("p", { class: "judge-words", dir: "auto" }, words) : null);
}

function judgesOf(answer, place) {
  return (answer.more.judged || []).filter((one) => one[1] === place)
    .map((one) => judgeBars(one[0], one));
}

function stateLine(segment, answer) {
  const { mark, words } = STATES[segment.state];
  let line = words;
  if (segment.state === "wrong") line = `wrong label, the truth says ${segment.partner.emotion}`;
  const pair = segment.partner ? ` · tIoU ${twoDigits(segment.tiou)} with ` +
    `T${segment.partner.place + 1}` : "";
  return make("p", { class: `verdict ${segment.state}` }, make("b", {}, mark), ` ${line}${pair}`,
    answer.more.cut ? " · reply cut at the token limit" : "");
}

function segmentBody(segment, answer) {
  return [
    make("p", { class: "what" }, chip(segment),
      make("span", { class: "times" },
        `${secondsText(segment.start)} – ${secondsText(segment.end)} s`)),
    answer ? stateLine(segment, answer) : null,
    segment.reason ? make("p", { class: "reason", dir: "auto" }, segment.reason) :
      make("p", { class: "reason none" }, "No reason is given."),
  ];
}

// Runs whose raw reply is unfolded: it stays so while segments play.
const unfolded = new Set();

function rawReply(answer) {
  const details = make("details", {
    class: "raw", open: unfolded.has(answer.run),
    ontoggle: () => {
      if (details.open) unfolded.add(answer.run);
      else if (details.isConnected) unfolded.delete(answer.run);
    },
  },
  make("summary", {},
    `The reply as it came, ${answer.more.reply_characters.toLocaleString("en")} characters`),
  make("pre", { dir: "auto", tabindex: 0 }, textAt(answer.more.reply)));
  return details;
}

function replyBlock(answer) {
  const { faults = [], error } = answer.more;
  if (failureOf(answer) === "missing") {
    return [make("p", { class: "verdict failed" }, make("b", {}, "∅"), " no reply"),
      error === undefined ? null : make("p", { class: "reason", dir: "auto" }, textAt(error))];
  }
  return [
    make("p", { class: "verdict failed" }, make("b", {}, "!"),
      " unparsed: no strict timeline, every true segment counts as missed"),
    make("ul", { class: "faults" },
      ...faults.map((fault) => make("li", { dir: "auto" }, textAt(fault)))),
    rawReply(answer),
  ];
}

function cardsOf(clip, playing) {
  const [truth, ...rest] = playing;
  const cards = [make("article", { class: "card truth", "aria-label": "Truth" },
    make("h3", {}, "Truth"), ...(truth ? segmentBody(truth, null) : []))];
  clip.answers.forEach((answer, run) => {
    const segment = rest[run];
    const body = segment ? segmentBody(segment, answer) :
      [answer.segments.length ? make("p", { class: "reason none" }, "No segment here.") : null];
    cards.push(make("article", { class: "card", "aria-label": RUNS[run] },
      make("h3", {}, runName(run)), ...body,
      ...(segment ? judgesOf(answer, segment.place) : []), ...judgesOf(answer, NOTHING),
      ...(answer.scored ? [] : replyBlock(answer))));
  });
  return cards;
}

function pairRows(answer, clip) {
  const found = answer.pairs.map(([one, other, tiou]) => ({
    truth: clip.truth[one] || null, segment: answer.segments[other] || null, tiou,
  }));
  // An extra segment that shares a place with a true one left alone is in no pair of its own.
  const inPairs = new Set(found.map((pair) => pair.segment));
  for (const segment of answer.segments) {
    if (!inPairs.has(segment)) found.push({ truth: null, segment, tiou: null });
  }
  return found;
}

function pairTable(answer, clip) {
  const side = (one, name) => one ? [chip(one), make("span", { class: "times" },
    ` ${name}${one.place + 1} · ${secondsText(one.start)} – ${secondsText(one.end)} s`)] :
    [make("span", { class: "times" }, "no partner")];
  const rows = pairRows(answer, clip).map(({ truth, segment, tiou }) => {
    const state = segment ? STATES[segment.state] : { mark: "–", words: "missed" };
    return make("tr", {}, make("td", {}, ...side(truth, "T")), make("td", {}, ...side(segment, "P")),
      make("td", { class: "number" }, tiou === null ? "" : twoDigits(tiou)),
      make("td", {}, `${state.mark} ${state.words}`));
  });
  const head = ["truth", "predicted", "tIoU", ""].map((name) => make("th", { scope: "col" }, name));
  return make("table", {},
    make("caption", {}, runName(answer.run),
      answer.scored ? ` · mean tIoU ${twoDigits(answer.tiou)}, ` +
        `${twoDigits(answer.accuracy)} of the places right` : ` · ${failureOf(answer)}`),
    answer.scored ? make("thead", {}, make("tr", {}, ...head)) : null,
    answer.scored ? make("tbody", {}, ...rows) : null);
}
