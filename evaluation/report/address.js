// The page's address keeps the clip and the filters, so that a link leads to an example.
//
//   #clip=test%2F00004&kind=wrong_label&emotion=Joy&sort=worst
//
// A name that the page does not know (another report's link) is passed over.

const ANY = ["run", "emotion", "genre", "scene"];
const NAMES = { run: RUNS, emotion: DATA.labels, genre: DATA.tags, scene: DATA.tags };

function addressOf(state, clip) {
  const words = new URLSearchParams();
  if (clip) words.set("clip", clip.id);
  for (const kind of KINDS) if (state.kinds.has(kind.name)) words.append("kind", kind.name);
  for (const key of ANY) if (state[key] !== NOTHING) words.set(key, NAMES[key][state[key]]);
  const plain = plainState();
  for (const key of ["side", "low", "high", "search", "sort"]) {
    if (state[key] !== plain[key]) words.set(key, state[key]);
  }
  return `#${words}`;
}

function shareIn(text, otherwise) {
  const value = Number(text);
  return text !== null && text !== "" && value >= 0 && value <= 1 ? value : otherwise;
}

// What an address says, or null for one that says nothing of examples, such as "#headline".
function readAddress(hash) {
  if (!hash.includes("=")) return null;
  const words = new URLSearchParams(hash.slice(1));
  const state = plainState();
  for (const name of words.getAll("kind")) {
    if (KINDS.some((kind) => kind.name === name)) state.kinds.add(name);
  }
  for (const key of ANY) state[key] = NAMES[key].indexOf(words.get(key));
  if (RUNS.length === 1) state.run = NOTHING;
  state.low = shareIn(words.get("low"), state.low);
  state.high = shareIn(words.get("high"), state.high);
  state.search = words.get("search") || "";
  if (["truth", "predicted"].includes(words.get("side"))) state.side = words.get("side");
  if (SORTS.some(([name]) => name === words.get("sort"))) state.sort = words.get("sort");
  return { state, clip: CLIPS.find((clip) => clip.id === words.get("clip")) || null };
}
