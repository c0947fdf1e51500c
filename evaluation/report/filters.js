// Which clips are listed, in which order: the filter's state, and the controls that change it.
//
//   filters.state.kinds.add("wrong_label"); filters.apply()      // -> onChange(places of clips)
//
// Error kinds and scores are asked of one and the same answer: a clip is listed where some run
// (or the chosen one) answers it in that way with such a score.

const SORTS = [
  ["order", "in the rows' order"],
  ["worst", "worst first"],
  ["best", "best first"],
  ["difference", "runs differ most"],
  ["longest", "longest first"],
  ["segments", "most segments first"],
];

const plainState = () => ({
  run: NOTHING, kinds: new Set(), emotion: NOTHING, side: "either", low: 0, high: 1,
  genre: NOTHING, scene: NOTHING, search: "", sort: "order",
});

// A failed reply counts as 0 in the means and lies within a range that begins at 0.
const scoreForRange = (answer) => (answer.scored ? answer.tiou : 0);

function answersOf(clip, state) {
  return state.run === NOTHING ? clip.answers : [clip.answers[state.run]];
}

function hasEmotion(clip, state) {
  if (state.emotion === NOTHING) return true;
  const has = (segments) => segments.some((one) => one.label === state.emotion);
  if (state.side !== "predicted" && has(clip.truth)) return true;
  return state.side !== "truth" && answersOf(clip, state).some((answer) => has(answer.segments));
}

function foundTexts(search) {
  const found = new Set();
  DATA.texts.forEach((one, place) => {
    if (one.toLowerCase().includes(search)) found.add(place);
  });
  return found;
}

function searchTest(state) {
  const search = state.search.trim().toLowerCase();
  if (!search) return () => true;
  const texts = foundTexts(search);
  const says = (segments) => segments.some((one) => texts.has(one.reasonPlace));
  return (clip) =>
    clip.id.toLowerCase().includes(search) || says(clip.truth) ||
    clip.answers.some((answer) => says(answer.segments));
}

function clipTest(state) {
  const matchesSearch = searchTest(state);
  return (clip) =>
    (state.genre === NOTHING || clip.genre === state.genre) &&
    (state.scene === NOTHING || clip.scene === state.scene) &&
    hasEmotion(clip, state) && matchesSearch(clip);
}

function inRange(answer, state) {
  const score = scoreForRange(answer);
  // Half a thousandth: scores stand in the page with three digits.
  return state.low - 5e-4 <= score && score <= state.high + 5e-4;
}

function sortValue(clip, state) {
  const answers = answersOf(clip, state);
  const scores = answers.map((answer) => (answer.scored ? answer.tiou : NOTHING));
  const mean = scores.reduce((sum, one) => sum + one, 0) / scores.length;
  const all = clip.answers.map(scoreForRange);
  return {
    order: clip.place, worst: mean, best: -mean, longest: -clip.duration,
    difference: Math.min(...all) - Math.max(...all), segments: -clip.truth.length,
  }[state.sort];
}

// The places of the clips that are listed, and per kind how many would be with that kind alone.
function listed(state) {
  const test = clipTest(state);
  const counts = Object.fromEntries(KINDS.map((kind) => [kind.name, 0]));
  const wanted = KINDS.filter((kind) => state.kinds.has(kind.name))
    .reduce((bits, kind) => bits | kind.bit, 0);
  const found = [];
  for (const clip of CLIPS) {
    if (!test(clip)) continue;
    const answers = answersOf(clip, state).filter((answer) => inRange(answer, state));
    const bits = answers.reduce((all, answer) => all | answer.bits, 0);
    for (const kind of KINDS) if (bits & kind.bit) counts[kind.name] += 1;
    if (answers.length && (!wanted || bits & wanted)) found.push(clip.place);
  }
  if (state.sort !== "order") {
    const values = new Map(found.map((place) => [place, sortValue(CLIPS[place], state)]));
    found.sort((one, other) => values.get(one) - values.get(other) || one - other);
  }
  return { found, counts };
}

class Filters {
  constructor(onChange) {
    this.onChange = onChange;
    this.state = plainState();
    this.controls = {};
    this.element = this.build();
  }

  build() {
    const names = DATA.labels.map((name, place) => [place, name])
      .sort((one, other) => one[1].localeCompare(other[1]));
    const tags = (key) => [...new Set(CLIPS.map((clip) => clip[key]))]
      .filter((place) => place !== NOTHING).map((place) => [place, tagAt(place)])
      .sort((one, other) => one[1].localeCompare(other[1]));
    const select = (...options) => this.select(...options);
    const sorts = SORTS.filter(([name]) => name !== "difference" || RUNS.length > 1);
    const fields = [
      this.search(),
      select("run", "Run", [[NOTHING, RUNS.length > 1 ? "any run" : RUNS[0]],
        ...(RUNS.length > 1 ? RUNS.map((name, place) => [place, name]) : [])]),
      select("emotion", "Emotion", [[NOTHING, "any emotion"], ...names]),
      select("side", "Where", [["either", "truth or predicted"], ["truth", "in the truth"],
        ["predicted", "predicted"]]),
      this.range(),
    ];
    for (const key of ["genre", "scene"]) {
      if (tags(key).length) {
        fields.push(select(key, key[0].toUpperCase() + key.slice(1),
          [[NOTHING, `any ${key}`], ...tags(key)]));
      }
    }
    fields.push(select("sort", "Order", sorts));
    this.count = make("p", { class: "count", role: "status", "aria-live": "polite" });
    this.reset = make("button", { class: "plain", type: "button", onclick: () => this.clear() },
      "Clear filters");
    return make("div", { class: "filters" },
      make("div", { class: "fields" }, ...fields),
      make("div", { class: "kinds", role: "group", "aria-label": "Kinds of errors" },
        ...KINDS.map((kind) => this.kindButton(kind)), this.reset, this.count));
  }

  field(name, control) {
    control.id = `filter-${name.toLowerCase()}`;
    return make("div", { class: "field" }, make("label", { for: control.id }, name), control);
  }

  search() {
    const input = make("input", {
      type: "search", placeholder: "ids and reasons", autocomplete: "off", spellcheck: "false",
      oninput: () => this.set("search", input.value),
    });
    this.controls.search = input;
    return this.field("Search", input);
  }

  select(key, name, options) {
    const control = make("select", {
      onchange: () => {
        const place = Number(control.value);
        this.set(key, Number.isNaN(place) ? control.value : place);
      },
    }, ...options.map(([value, words]) => make("option", { value }, words)));
    this.controls[key] = control;
    return this.field(name, control);
  }

  range() {
    const input = (key, words) => {
      const control = make("input", {
        type: "number", min: 0, max: 1, step: 0.05, "aria-label": words,
        oninput: () => {
          if (control.value !== "" && control.validity.valid) this.set(key, Number(control.value));
        },
      });
      this.controls[key] = control;
      return control;
    };
    return make("div", { class: "field", role: "group", "aria-label": "Clip's mean tIoU" },
      make("span", {}, "Mean tIoU"),
      make("span", { class: "range" }, input("low", "lowest mean tIoU"), "to",
        input("high", "highest mean tIoU")));
  }

  kindButton(kind) {
    const button = make("button", {
      type: "button", class: "kind", title: kind.meaning, "data-kind": kind.name,
      onclick: () => {
        if (!this.state.kinds.delete(kind.name)) this.state.kinds.add(kind.name);
        this.apply();
      },
    }, kind.words, make("b", {}));
    this.controls[kind.name] = button;
    return button;
  }

  set(key, value) {
    this.state[key] = value;
    this.apply();
  }

  clear() {
    this.state = plainState();
    this.apply();
    this.controls.search.focus();
  }

  // Show the state in the controls, and tell who lists.
  apply() {
    const { state, controls } = this;
    for (const key of ["search", "run", "emotion", "side", "low", "high", "genre", "scene", "sort"]) {
      const control = controls[key];
      if (!control) continue;
      const isTyped = key === "low" || key === "high";
      if (isTyped ? Number(control.value) !== state[key] || control.value === "" :
        control.value !== String(state[key])) {
        control.value = isTyped ? twoDigits(state[key]) : state[key];
      }
    }
    controls.side.disabled = state.emotion === NOTHING;
    const { found, counts } = listed(state);
    for (const kind of KINDS) {
      const button = controls[kind.name];
      button.setAttribute("aria-pressed", state.kinds.has(kind.name));
      button.lastChild.textContent = counts[kind.name].toLocaleString("en");
      button.classList.toggle("none", counts[kind.name] === 0);
    }
    const total = CLIPS.length.toLocaleString("en");
    this.count.textContent = `${found.length.toLocaleString("en")} of ${total} clips`;
    this.reset.hidden = !this.isNarrowed;
    this.onChange(found);
  }

  get isNarrowed() {
    const plain = plainState();
    return Object.keys(plain).some((key) =>
      key === "kinds" ? this.state.kinds.size > 0 : this.state[key] !== plain[key]);
  }
}
