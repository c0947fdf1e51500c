// Elements, made from texts that anybody may have written: they become text nodes and attributes,
// never markup.
//
//   make("p", { class: "note", title: reason }, "any text", make("b", {}, "more"))

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") setStyle(element, value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

function setStyle(element, values) {
  for (const [name, value] of Object.entries(values)) element.style.setProperty(name, value);
}

function put(element, ...children) {
  element.replaceChildren(...children.filter((child) => child !== null));
  return element;
}

// A run's name after a dot in its colour, the one it has in the plots.
function runName(run) {
  const color = `var(--plot-run-${(run % 6) + 1}, var(--accent))`;
  return make("span", { class: "label" },
    make("i", { class: "dot", "aria-hidden": "true", style: { "--run": color } }),
    make("bdi", {}, RUNS[run]));
}

// The emotion's name on its colour.
function chip(segment) {
  return make("span", { class: "chip", style: { "--fill": segment.color } }, segment.emotion);
}
