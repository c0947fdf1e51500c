// A clip's entry in the list: its id, and a thin strip of colours for the truth and for each run.
//
//   stripRow("GRPO", answer.segments, clip.duration, "0.83")

function strip(segments, duration) {
  const bar = make("span", { class: "strip" });
  for (const one of segments) {
    const start = Math.min(Math.max(one.start / duration, 0), 1);
    const end = Math.min(Math.max(one.end / duration, start), 1);
    bar.append(make("i", {
      class: one.state && one.state !== "right" ? one.state : null,
      style: {
        left: `${100 * start}%`, width: `${100 * (end - start)}%`, "--fill": one.color,
      },
    }));
  }
  return bar;
}

function scoreText(answer) {
  return answer.scored ? twoDigits(answer.tiou) : failureOf(answer);
}

function stripRow(name, segments, duration, value, failed = false) {
  return make("span", { class: "strip-row" },
    make("span", { class: "who" }, name), strip(segments, duration),
    make("span", { class: failed ? "value failed" : "value" }, value));
}

function clipSummary(clip) {
  const parts = clip.answers.map((answer) => `${RUNS[answer.run]} ${scoreText(answer)}`);
  return `${clip.id}, ${secondsText(clip.duration)} seconds, mean tIoU: ${parts.join(", ")}`;
}

function clipEntry(clip) {
  const isRight = clip.answers.every((answer) => answer.kinds[0] === "right");
  return [
    make("span", { class: "name" },
      make("bdi", {}, clip.id), isRight ? make("span", { class: "all-right" }, "✓ right") : null),
    stripRow("Truth", clip.truth, clip.duration, `${secondsText(clip.duration)} s`),
    ...clip.answers.map((answer) =>
      stripRow(RUNS[answer.run], answer.segments, clip.duration, scoreText(answer), !answer.scored)),
  ];
}
