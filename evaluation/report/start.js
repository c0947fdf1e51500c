// Puts the browser of examples together: filters above, list at the left, one clip at the right.

function begin() {
  const examples = document.getElementById("examples");
  let found = CLIPS.map((clip) => clip.place);
  let isReady = false;

  const remember = () => {
    if (!isReady) return;
    const address = addressOf(filters.state, CLIPS[list.selected]);
    history.replaceState(null, "", address);
  };
  const view = new ClipView((step) => list.move(step));
  const list = new ClipList((place) => {
    if (!view.clip || view.clip.place !== place) view.show(CLIPS[place]);
    remember();
  });
  const filters = new Filters((places) => {
    found = places;
    list.show(found);
    // The clip stays where it is listed; else the first one that is takes its place.
    if (found.length && !found.includes(list.selected)) list.select(found[0]);
    else list.reveal();
    remember();
  });

  const more = make("button", {
    type: "button", class: "plain more", "aria-expanded": "false",
    onclick: () => {
      const isOpen = filters.element.classList.toggle("open");
      more.setAttribute("aria-expanded", isOpen);
    },
  }, "Filters");
  const help = listen({ list, view, filters, examples });
  const helpButton = make("button", {
    type: "button", class: "plain", "aria-label": "Keyboard help (?)", title: "Keyboard help (?)",
    onclick: () => help.showModal(),
  }, "? Keys");
  filters.element.firstChild.append(helpButton);
  examples.replaceChildren(
    make("div", { class: "bar-top" }, make("h2", {}, "Examples"), more),
    filters.element, make("div", { class: "browser" }, list.element, view.element));

  const open = () => {
    const wanted = readAddress(location.hash);
    // A link to a section leaves filters, clip and address as they are.
    if (!wanted && isReady) return;
    if (wanted) filters.state = wanted.state;
    if (wanted && wanted.clip) list.selected = wanted.clip.place;
    filters.apply();
    if (!wanted) return;
    // A link to a clip shows it, whatever its filters hide.
    if (wanted.clip) list.select(wanted.clip.place);
    examples.scrollIntoView({ block: "start" });
  };
  open();
  isReady = true;
  window.addEventListener("hashchange", open);
  document.documentElement.classList.add("ready");
}

begin();
