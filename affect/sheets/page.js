// One rater's sheet: what is given is kept in the browser. Follows table.js in one script.

const sections = Array.from(document.querySelectorAll("section"));
let answers = {}; // "ITEM/COLUMN" -> what was given; nothing stands for a question left open
let shown = 0;
let isKept = true; // whether the browser stores the answers

// ---- What was given ----

function say(text, isWrong) {
  const status = document.getElementById("status");
  status.textContent = text;
  status.classList.toggle("wrong", Boolean(isWrong));
}

function keep() {
  try {
    localStorage.setItem(sheet.storage, JSON.stringify(answers));
    isKept = true;
  } catch (error) {
    isKept = false;
    say("This browser keeps nothing (" + error.name + "): save before you close the page.", true);
  }
}

function kept() {
  try {
    return JSON.parse(localStorage.getItem(sheet.storage) || "{}");
  } catch (error) {
    say("This browser keeps nothing (" + error.name + "): save before you close the page.", true);
    isKept = false;
    return {};
  }
}

function fillIn() {
  for (const input of document.querySelectorAll("input[name]")) {
    const value = answers[input.name];
    if (input.type === "text") input.value = value || "";
    else input.checked = input.value === value;
  }
  showProgress();
}

function closeHelp() {
  document.getElementById("help").open = false;
}

function give(name, value) {
  if (value) answers[name] = value;
  else delete answers[name];
  keep();
  showProgress();
}

function numOpen(fieldsets) {
  return fieldsets.filter(isOpen).length;
}

function questionsOf(element) {
  return Array.from(element.querySelectorAll("fieldset"));
}

function showProgress() {
  const numGiven = Object.keys(answers).filter(function (name) {
    return !name.endsWith("/comment");
  }).length;
  const numAll = sheet.rows.length * sheet.questions.length;
  document.getElementById("progress").textContent = numGiven;
  document.getElementById("bar").value = numAll ? numGiven / numAll : 0;
  const section = sections[shown];
  if (!section) return;
  const questions = questionsOf(section);
  for (const one of questions) one.classList.toggle("given", !isOpen(one));
  const open = numOpen(questions);
  document.getElementById("here").textContent = open ? open + " open here" : "all given here";
}

// ---- Going about ----

function show(index) {
  sections.forEach(function (section, place) {
    section.hidden = place !== index;
    if (place !== index) section.querySelector("video").pause();
  });
  shown = index;
  sections[index].querySelector("video").preload = "auto";
  document.getElementById("videos").value = String(index);
  document.getElementById("previous").disabled = index === 0;
  document.getElementById("next").disabled = index === sections.length - 1;
  document.querySelector("main").scrollIntoView();
  showProgress();
}

function go(index) {
  if (index < 0 || index >= sections.length) return;
  closeHelp();
  show(index);
  goToQuestion(questionsOf(sections[index])[0]);
}

function goToQuestion(fieldset) {
  if (!fieldset) return;
  const radio = fieldset.querySelector("input:checked") || fieldset.querySelector("input");
  radio.focus({ preventScroll: true });
  fieldset.closest("article").scrollIntoView({ block: "nearest" });
}

// What encloses the keyboard's place and matches; null where that is not in the video on show.
function enclosing(selector) {
  const found = document.activeElement.closest(selector);
  return found && sections[shown].contains(found) ? found : null;
}

function isOpen(fieldset) {
  return !(fieldset.dataset.name in answers);
}

// The question in which the keyboard is; else the first open one of the segment, or of the video.
function question() {
  return enclosing("fieldset") ||
    questionsOf(enclosing("article") || sections[shown]).find(isOpen) || null;
}

// The segment in which the keyboard is, or is to go next.
function segment() {
  const next = question();
  return enclosing("article") || (next || sections[shown].querySelector("fieldset")).closest("article");
}

function step(by) {
  const all = questionsOf(sections[shown]);
  const inside = enclosing("fieldset");
  goToQuestion(inside ? all[all.indexOf(inside) + by] : question() || all[0]);
}

function goToOpen() {
  for (let by = 0; by < sections.length; by += 1) {
    const index = (shown + by) % sections.length;
    const open = questionsOf(sections[index]).find(isOpen);
    if (!open) continue;
    if (index !== shown) show(index);
    goToQuestion(open);
    return;
  }
  say("Nothing is left open.");
}

function rate(rating) {
  const fieldset = question();
  if (!fieldset) return;
  fieldset.querySelector('input[value="' + rating + '"]').checked = true;
  closeHelp();
  give(fieldset.dataset.name, rating);
  const all = questionsOf(sections[shown]);
  const following = all[all.indexOf(fieldset) + 1];
  if (following) goToQuestion(following);
  else document.getElementById("next").focus();
}

function takeBack() {
  const fieldset = enclosing("fieldset");
  if (!fieldset) return;
  for (const input of fieldset.querySelectorAll("input")) input.checked = false;
  give(fieldset.dataset.name, "");
}

function comment() {
  segment().querySelector("input[type=text]").focus();
}

// ---- Playing ----

function play(article) {
  const video = article.closest("section").querySelector("video");
  video.dataset.from = article.dataset.start;
  video.dataset.until = article.dataset.end;
  video.currentTime = Number(article.dataset.start);
  const started = video.play();
  if (started) started.catch(function () {}); // the reason comes as the video's own error event
}

function follow(video) {
  const section = video.closest("section");
  const now = video.currentTime;
  section.style.setProperty("--at", 100 * now / Number(section.dataset.duration) + "%");
  for (const one of section.querySelectorAll("[data-start]")) {
    const isPlaying = Number(one.dataset.start) <= now && now < Number(one.dataset.end);
    one.classList.toggle("playing", isPlaying);
  }
  if (video.dataset.until && now >= Number(video.dataset.until)) {
    delete video.dataset.until;
    video.pause();
  }
}

// ---- Files ----

function save() {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob(["\ufeff" + csvText(answers)], { type: "text/csv" }));
  link.download = sheet.file;
  link.click();
  setTimeout(function () { URL.revokeObjectURL(link.href); }, 60000);
  const open = sheet.rows.length * sheet.questions.length -
    Number(document.getElementById("progress").textContent);
  say("Saved as " + sheet.file + (open ? ", " + open + " ratings still open." : ", complete."));
}

async function load(file) {
  let found;
  try {
    found = readSheet(await file.text());
  } catch (error) {
    say(file.name + ": " + error.message + ". Nothing was changed.", true);
    return;
  }
  const numLost = Object.keys(answers).filter(function (name) {
    return found[name] !== answers[name];
  }).length;
  if (numLost && !confirm(numLost + " answers given here are others in the file, or not in it. " +
      "Take those of the file?")) return;
  answers = found;
  keep();
  fillIn();
  say("Took over " + Object.keys(found).length + " answers from " + file.name + ".");
}

// ---- Events ----

const KEYS = {
  j: function () { step(1); },
  k: function () { step(-1); },
  n: function () { go(shown + 1); },
  b: function () { go(shown - 1); },
  o: goToOpen,
  p: function () { play(segment()); },
  x: takeBack,
  c: comment,
};

document.addEventListener("keydown", function (event) {
  if ((event.ctrlKey || event.metaKey) && event.key === "s") {
    event.preventDefault();
    save();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || sections.length === 0) return;
  if (event.target.matches("input[type=text]")) {
    if (event.key !== "Escape" && event.key !== "Enter") return;
    goToQuestion(question() || enclosing("article").querySelector("fieldset"));
    return;
  }
  if (event.target.matches("select, video")) return;
  const isRating = /^[0-9]$/.test(event.key) && sheet.ratings.includes(Number(event.key));
  if (!isRating && !Object.hasOwn(KEYS, event.key)) return;
  event.preventDefault();
  if (isRating) rate(event.key);
  else KEYS[event.key]();
});

document.addEventListener("input", function (event) {
  const input = event.target;
  if (!input.name) return;
  give(input.name, input.type === "text" ? input.value.trim() : input.value);
});

document.addEventListener("change", function (event) {
  if (event.target.id === "videos") go(Number(event.target.value));
  if (event.target.id === "load" && event.target.files.length > 0) {
    load(event.target.files[0]);
    event.target.value = ""; // so that the same file can be taken again
  }
});

document.addEventListener("click", function (event) {
  const button = event.target.closest("button");
  if (!button) return;
  if (button.id === "save") save();
  else if (button.id === "previous") go(shown - 1);
  else if (button.id === "next") go(shown + 1);
  else if (button.id === "open") goToOpen();
  else if (button.classList.contains("play")) play(button.closest("article"));
  else if (button.classList.contains("mark")) {
    const article = document.getElementById(button.dataset.article);
    play(article);
    goToQuestion(article.querySelector("fieldset"));
  }
});

// Events of a video do not bubble: they are caught on their way down.
document.addEventListener("timeupdate", function (event) { follow(event.target); }, true);
document.addEventListener("seeking", function (event) {
  // Whoever moves about in the video himself is not stopped at a segment's end.
  const video = event.target;
  if (Math.abs(video.currentTime - Number(video.dataset.from)) > 0.1) delete video.dataset.until;
}, true);
document.addEventListener("error", function (event) {
  if (!event.target.matches("video")) return;
  const told = event.target.closest("section").querySelector(".broken");
  told.textContent = "This clip cannot be played here: " + event.target.getAttribute("src");
}, true);

addEventListener("storage", function (event) {
  if (event.key !== sheet.storage) return;
  answers = kept(); // the same sheet was filled in in another tab
  fillIn();
});

addEventListener("beforeunload", function (event) {
  if (!isKept && Object.keys(answers).length > 0) event.preventDefault();
});

answers = kept();
fillIn();
if (sections.length > 0) {
  const first = sections.findIndex(function (section) { return numOpen(questionsOf(section)) > 0; });
  show(Math.max(first, 0));
  if (Object.keys(answers).length > 0) closeHelp();
  window.scrollTo(0, 0);
}
