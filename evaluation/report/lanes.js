// The synchronised timelines of one clip: truth on top, a lane per run, axis and playhead.
//
//   const lanes = new Lanes(clip, { onSegment, onSeek });
//   lanes.light(2.4)      // moves the playhead, lights what plays in every lane
//
// A segment is a button. Beside its label stand its mark, and the true segment that it is paired
// with; the partner of a segment under the pointer or the focus is framed.

const MAX_TICKS = 10;

// The smallest of 0.1, 0.2, 0.5, 1, 2, 5 ... s that gives few enough ticks.
function tickStep(duration) {
  const power = 10 ** Math.floor(Math.log10(Math.max(duration / MAX_TICKS, 0.01)));
  return [1, 2, 5, 10].map((factor) => factor * power)
    .find((step) => duration / step <= MAX_TICKS) || 10 * power;
}

function pairText(segment) {
  if (segment.state === "unscored") return "not scored";
  if (!segment.partner) return "no partner";
  return `T${segment.partner.place + 1} · ${twoDigits(segment.tiou)}`;
}

function segmentLabel(name, segment) {
  const times = `${secondsText(segment.start)} to ${secondsText(segment.end)} s`;
  const parts = [`${name}: ${segment.emotion}`, times];
  if (segment.state) {
    parts.push(STATES[segment.state].words);
    if (segment.partner) {
      parts.push(`tIoU ${twoDigits(segment.tiou)} with ` +
        `T${segment.partner.place + 1} ${segment.partner.emotion}`);
    }
  }
  return parts.join(", ");
}

class Lanes {
  constructor(clip, { onSegment, onSeek }) {
    this.clip = clip;
    this.onSegment = onSegment;
    this.onSeek = onSeek;
    this.buttons = new Map(); // segment -> its button
    this.rows = [
      { name: "Truth", segments: clip.truth },
      ...clip.answers.map((answer) => ({
        name: RUNS[answer.run], segments: answer.segments, answer,
      })),
    ];
    this.head = make("div", { class: "playhead", "aria-hidden": "true" });
    this.axis = this.buildAxis();
    this.element = make("div", { class: "lanes" },
      ...this.rows.map((row, place) => this.buildRow(row, place)),
      make("div", { class: "lane axis-row" }, make("span", { class: "who" }), this.axis),
      make("div", { class: "over", "aria-hidden": "true" }, this.head));
  }

  buildRow(row, place) {
    const track = make("div", {
      class: "track", onpointerdown: (event) => this.scrub(event, track),
    });
    const inOrder = [...row.segments].sort((one, other) => one.start - other.start);
    for (const segment of inOrder) track.append(this.buildSegment(row, segment, place));
    if (!row.segments.length) {
      track.append(make("span", { class: "no-segments" },
        row.answer && failureOf(row.answer) === "missing" ? "no reply" :
          "a reply without a segment that can be read"));
    }
    const failure = row.answer ? failureOf(row.answer) : "";
    return make("div", { class: "lane", role: "group", "aria-label": row.name },
      make("span", { class: "who", title: row.name },
        row.answer ? runName(row.answer.run) : make("span", { class: "label" }, row.name),
        row.answer ? make("small", { class: failure ? "failed" : null },
          failure || `tIoU ${twoDigits(row.answer.tiou)}`) : make("small", {}, "annotated")),
      track);
  }

  buildSegment(row, segment, place) {
    const { duration } = this.clip;
    const start = Math.min(Math.max(segment.start / duration, 0), 1);
    const end = Math.min(Math.max(segment.end / duration, start), 1);
    const label = segmentLabel(row.name, segment);
    const second = place ? pairText(segment) : `T${segment.place + 1}`;
    const button = make("button", {
      type: "button", class: `segment ${segment.state || "true"}`, "aria-label": label,
      title: label, "data-lane": place, "data-segment": segment.place,
      style: {
        left: `${100 * start}%`, width: `${100 * (end - start)}%`, "--fill": segment.color,
      },
      onclick: () => this.onSegment(segment, place),
      onpointerenter: () => this.frame(segment, true),
      onpointerleave: () => this.frame(segment, false),
      onfocus: () => this.frame(segment, true),
      onblur: () => this.frame(segment, false),
    },
    make("span", { class: "first" },
      segment.state ? make("span", { class: "mark" }, STATES[segment.state].mark) : null,
      make("bdi", {}, segment.emotion)),
    make("span", { class: "second" }, second));
    this.buttons.set(segment, button);
    return button;
  }

  buildAxis() {
    const { duration } = this.clip;
    const axis = make("div", {
      class: "axis", role: "slider", tabindex: 0, "aria-label": "Time in seconds",
      "aria-valuemin": 0, "aria-valuemax": duration,
      onpointerdown: (event) => this.scrub(event, axis),
      onkeydown: (event) => this.onKey(event),
    });
    const step = tickStep(duration);
    for (let number = 0; number * step <= duration + 1e-9; number += 1) {
      const seconds = number * step;
      const isLast = seconds > 0.98 * duration; // its number would stand over the edge
      const tick = make("span", { class: isLast ? "tick last" : "tick", style: { left: `${(100 * seconds) / duration}%` } },
        `${Number(seconds.toFixed(2))}${number ? "" : " s"}`);
      axis.append(tick);
    }
    return axis;
  }

  // A press on a lane or the axis seeks, and goes on seeking while it is held.
  scrub(event, track) {
    if (event.button !== 0 || event.target.closest(".segment")) return;
    event.preventDefault();
    const seek = (moved) => {
      const box = track.getBoundingClientRect();
      this.onSeek((this.clip.duration * (moved.clientX - box.left)) / box.width);
    };
    track.setPointerCapture(event.pointerId);
    track.addEventListener("pointermove", seek);
    const stop = () => track.removeEventListener("pointermove", seek);
    track.addEventListener("pointerup", stop, { once: true });
    track.addEventListener("pointercancel", stop, { once: true });
    seek(event);
  }

  onKey(event) {
    const step = event.shiftKey ? 1 : 0.1;
    const now = Number(this.axis.getAttribute("aria-valuenow"));
    const times = {
      ArrowRight: now + step, ArrowLeft: now - step, Home: 0, End: this.clip.duration,
    };
    if (!(event.key in times)) return;
    event.preventDefault();
    event.stopPropagation();
    this.onSeek(times[event.key]);
  }

  frame(segment, isOn) {
    const partners = segment.state ? [segment.partner] :
      this.clip.answers.map((answer) => answer.partners[segment.place]);
    for (const one of partners) {
      if (one) this.buttons.get(one).classList.toggle("partner", isOn);
    }
  }

  // The segments that play at a time, lane by lane; null where none does.
  light(time) {
    this.head.style.left = `${(100 * time) / this.clip.duration}%`;
    this.axis.setAttribute("aria-valuenow", time.toFixed(2));
    this.axis.setAttribute("aria-valuetext", `${secondsText(time)} seconds`);
    const playing = this.rows.map((row) => this.playing(row.segments, time));
    for (const [segment, button] of this.buttons) {
      const isLit = playing.includes(segment);
      button.classList.toggle("lit", isLit);
      if (isLit) button.setAttribute("aria-current", "true");
      else button.removeAttribute("aria-current");
    }
    return playing;
  }

  playing(segments, time) {
    // At the very end the last one still plays.
    return segmentAt(segments, time) ||
      (time >= this.clip.duration - 0.05 ? segments[segments.length - 1] || null : null);
  }
}
