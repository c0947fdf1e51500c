// The keyboard, and the overlay that explains it.
//
//   const help = listen({ list, view, filters, examples });

const HELP = [
  ["j  k", "next, previous clip (↓ ↑ within the examples)"],
  ["space", "play, pause"],
  ["n  p", "next segment, segment before"],
  ["← →", "half a second back, on (within the examples)"],
  ["/", "search ids and reasons"],
  ["Esc", "leave the search, close this"],
  ["?", "this help"],
  ["Tab", "through everything, segments included; Enter or space plays one"],
];
const STEP_SECONDS = 0.5;

function helpDialog() {
  const rows = HELP.map(([keys, words]) => make("tr", {},
    make("th", { scope: "row" }, ...keys.split("  ").map((key) => make("kbd", {}, key))),
    make("td", {}, words)));
  const dialog = make("dialog", { class: "help", "aria-label": "Keyboard" },
    make("h2", {}, "Keyboard"), make("table", {}, make("tbody", {}, ...rows)),
    make("button", { type: "button", class: "plain", onclick: () => dialog.close() }, "Close"));
  return dialog;
}

function listen({ list, view, filters, examples }) {
  const help = helpDialog();
  document.body.append(help);
  const go = (step) => {
    examples.scrollIntoView({ block: "start" });
    list.move(step);
  };
  const everywhere = {
    j: () => go(1), k: () => go(-1), n: () => view.step(1), p: () => view.step(-1),
    "?": () => help.showModal(),
    "/": () => {
      examples.scrollIntoView({ block: "start" });
      filters.controls.search.focus();
      filters.controls.search.select();
    },
  };
  const within = {
    ArrowDown: () => list.move(1), ArrowUp: () => list.move(-1),
    ArrowRight: () => view.clock.seek(view.clock.time + STEP_SECONDS),
    ArrowLeft: () => view.clock.seek(view.clock.time - STEP_SECONDS),
  };
  let cameByTab = false;
  document.addEventListener("pointerdown", () => { cameByTab = false; }, true);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Tab") cameByTab = true;
    if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
    const { target } = event;
    if (target.closest("input, select, textarea")) {
      if (event.key === "Escape") target.blur();
      return;
    }
    let action = everywhere[event.key];
    if (!action && examples.contains(target) && !target.closest("pre")) action = within[event.key];
    // Space presses a button that has the focus. A segment's it presses only where somebody came by
    // Tab and nothing plays: after a click on a segment, space pauses and plays on.
    const segment = target.closest(".segment");
    const presses = segment ? cameByTab && !view.clock.playing && !segment.matches(".lit") :
      target.closest("button, summary, a");
    if (event.key === " ") action = presses ? null : () => view.clock.toggle();
    if (event.key === " " && segment && presses) action = () => segment.click();
    if (!action) return;
    event.preventDefault();
    action();
  });
  // A button is pressed when space is let go, which the keydown above does not prevent everywhere.
  document.addEventListener("keyup", (event) => {
    if (event.key === " " && event.target.closest(".segment")) event.preventDefault();
  });
  return help;
}
