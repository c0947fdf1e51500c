// One clip: its video beside the timelines, and below them what is said at the moment that plays.
//
//   view.show(CLIPS[4]); view.step(1)      // to the next segment

// A clip so small is drawn, not filmed: its pixels are enlarged as they are.
const SMALL_PICTURE_PIXELS = 128;
// A decoder lands on a frame's begin; a seek just behind a boundary shows the segment it opens.
const BEHIND_BOUNDARY_SECONDS = 0.02;
const SPEEDS = [0.25, 0.5, 1, 2];

function embeddedUrl(place) {
  const type = DATA.embedded[place];
  if (type === undefined) return "";
  const text = atob(document.getElementById(`video-${place}`).textContent);
  const bytes = Uint8Array.from(text, (character) => character.charCodeAt(0));
  return URL.createObjectURL(new Blob([bytes], { type }));
}

class ClipView {
  constructor(onMove) {
    this.clock = new Clock((time, playing) => this.tick(time, playing));
    this.lane = 0;
    this.url = "";
    this.video = null;
    this.screen = make("div", { class: "screen" });
    this.title = make("h2", { class: "clip-name", tabindex: -1 });
    this.tags = make("p", { class: "tags" });
    this.right = make("div", { class: "right" });
    this.cards = make("div", { class: "cards" });
    this.pairs = make("details", { class: "pairs" });
    const button = (name, words, action) => make("button", {
      type: "button", class: "plain", "aria-label": words, title: words, onclick: action,
    }, name);
    this.playButton = button("▶\uFE0E", "Play (space)", () => this.clock.toggle());
    this.playButton.classList.add("play");
    this.time = make("output", { class: "time", "aria-live": "off" });
    const speed = make("select", {
      "aria-label": "Speed", onchange: () => this.clock.setRate(Number(speed.value)),
    }, ...SPEEDS.map((rate) => make("option", { value: rate, selected: rate === 1 }, `${rate}×`)));
    this.element = make("div", { class: "view", role: "region", "aria-label": "Clip" },
      make("div", { class: "head" }, make("div", {}, this.title, this.tags),
        make("div", { class: "moves" }, button("↑", "Previous clip (k)", () => onMove(-1)),
          button("↓", "Next clip (j)", () => onMove(1)))),
      make("div", { class: "stage" },
        make("div", { class: "left" }, this.screen, make("div", { class: "controls" },
          button("❙◀\uFE0E", "Segment before (p)", () => this.step(-1)), this.playButton,
          button("▶\uFE0E❙", "Next segment (n)", () => this.step(1)), this.time, speed)),
        this.right),
      this.cards, this.pairs);
  }

  show(clip) {
    this.clip = null; // the clock ticks while it changes over
    this.release();
    this.url = embeddedUrl(clip.place);
    const video = this.showVideo(clip, this.url || clip.url);
    this.video = video;
    this.lane = 0;
    this.lanes = new Lanes(clip, {
      onSegment: (segment, lane) => this.jump(segment, lane),
      onSeek: (seconds) => this.clock.seek(seconds),
    });
    put(this.title, make("bdi", {}, clip.id));
    const tags = [["genre", tagAt(clip.genre)], ["scene", tagAt(clip.scene)],
      ["source", tagAt(clip.source)]].filter(([, value]) => value);
    put(this.tags, make("span", {}, `${secondsText(clip.duration)} s`),
      make("span", {}, `${clip.truth.length} true ` +
        (clip.truth.length === 1 ? "segment" : "segments")),
      ...tags.map(([name, value]) => make("span", { title: name }, make("bdi", {}, value))));
    put(this.right, this.lanes.element, this.legend(clip));
    put(this.pairs, make("summary", {}, "Pairs in numbers"),
      make("div", { class: "tables" }, ...clip.answers.map((answer) => pairTable(answer, clip))));
    this.shown = null;
    this.clip = clip;
    this.clock.start(video, clip.duration);
    this.clock.tick();
  }

  // Let go of the decoder and the bytes of the clip before: browsers have few of the one.
  release() {
    if (this.video) {
      this.video.pause();
      this.video.removeAttribute("src");
      this.video.load();
    }
    if (this.url) URL.revokeObjectURL(this.url);
  }

  showVideo(clip, source) {
    if (!source) {
      put(this.screen, this.message("No video", clip.problem));
      return null;
    }
    const video = make("video", {
      muted: true, playsinline: true, preload: "auto", "aria-label": `Video of ${clip.id}`,
      onclick: () => this.clock.toggle(),
    });
    video.muted = true;
    this.note = make("p", { class: "screen-note", hidden: true });
    video.addEventListener("loadedmetadata", () => {
      video.classList.toggle("small", video.videoWidth <= SMALL_PICTURE_PIXELS);
    });
    video.addEventListener("error", () => {
      if (!video.isConnected) return;
      put(this.screen, this.message("This video can't be played here",
        "Its file is gone, damaged, or in a format that this browser has no decoder for. " +
        "The timelines run on their own clock."));
    });
    put(this.screen, video, this.note);
    video.src = source;
    return video;
  }

  // What is odd about the file, "" where nothing is.
  noteText() {
    if (!this.clock.usable) return "";
    if (this.video.videoWidth === 0) return "This file has no picture that plays here.";
    const { fileSeconds, duration } = this.clock;
    const apart = Math.abs(fileSeconds - duration);
    if (!Number.isFinite(apart) || apart <= SAME_DURATION_SECONDS) return "";
    return `The file lasts ${secondsText(fileSeconds)} s, its row says ${secondsText(duration)} s.`;
  }

  message(title, words) {
    return make("div", { class: "no-video", role: "note" }, make("b", {}, title),
      make("span", { dir: "auto" }, words || ""));
  }

  legend(clip) {
    const found = new Set(clip.answers.flatMap((one) => one.segments.map((segment) => segment.state)));
    return make("p", { class: "legend" },
      ...Object.entries(STATES).filter(([name]) => found.has(name))
        .map(([name, { mark, words }]) => make("span", {}, make("b", {}, mark),
          name === "right" || name === "unscored" ? null : make("i", { class: `swatch ${name}` }),
          ` ${words}`)),
      make("span", {}, "T1 · 0.80: paired with true segment 1, tIoU 0.80"));
  }

  jump(segment, lane) {
    this.lane = lane;
    const behind = Math.min(BEHIND_BOUNDARY_SECONDS, (segment.end - segment.start) / 2);
    this.clock.seek(segment.start + Math.max(behind, 0));
    this.clock.play();
  }

  // To the segment after or before, in the lane that was clicked last, else the truth's.
  step(by) {
    const segments = [...(this.lanes.rows[this.lane].segments.length ?
      this.lanes.rows[this.lane].segments : this.clip.truth)].sort((a, b) => a.start - b.start);
    const { time } = this.clock;
    const next = by > 0 ? segments.find((one) => one.start > time) :
      segments.filter((one) => one.start < time - 0.5).pop() || segments[0];
    if (next) this.clock.seek(next.start + BEHIND_BOUNDARY_SECONDS);
  }

  tick(time, playing) {
    if (!this.clip) return;
    const lit = this.lanes.light(time);
    if (this.video) {
      this.note.textContent = this.noteText();
      this.note.hidden = !this.note.textContent;
    }
    this.lanes.element.classList.toggle("going", playing);
    const words = playing ? "Pause (space)" : "Play (space)";
    if (this.playButton.title !== words) {
      this.playButton.textContent = playing ? "❙❙" : "▶\uFE0E";
      this.playButton.title = words;
      this.playButton.setAttribute("aria-label", words);
    }
    this.time.textContent = `${secondsText(time)} / ${secondsText(this.clip.duration)} s`;
    const isNew = !this.shown || lit.some((segment, place) => segment !== this.shown[place]);
    if (isNew) put(this.cards, ...cardsOf(this.clip, lit));
    this.shown = lit;
  }
}
