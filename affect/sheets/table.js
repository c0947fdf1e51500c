// The sheet as a table: written as the CSV that stands beside the page, and read from such a one.
"use strict";

const sheet = JSON.parse(document.getElementById("sheet").textContent);
const formula = new RegExp(sheet.formula);

function asText(text) {
  return formula.test(text) ? "'" + text : text;
}

function fromText(cell) {
  return cell.startsWith("'") && formula.test(cell.slice(1)) ? cell.slice(1) : cell;
}

function csvCell(text) {
  return /[",\r\n]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text;
}

function csvText(answers) {
  const columns = sheet.columns;
  const lines = sheet.rows.map(function (row) {
    const filled = row.slice();
    const item = row[columns.indexOf("item")];
    for (const name of sheet.questions.concat(["comment"])) {
      filled[columns.indexOf(name)] = asText(answers[item + "/" + name] || "");
    }
    return filled;
  });
  return [columns].concat(lines).map(function (cells) {
    return cells.map(csvCell).join(",") + "\r\n";
  }).join("");
}

// [line from 1, cells] of each line that is not blank.
function parseCsv(text) {
  const rows = [];
  const plain = /[^,\r\n]*/y;
  let at = text.startsWith("\ufeff") ? 1 : 0;
  let line = 1;
  while (at < text.length) {
    const begin = line;
    const cells = [];
    for (;;) {
      let cell = "";
      if (text[at] === '"') {
        for (at += 1; ; at += 1) {
          if (at >= text.length) throw new Error("line " + begin + ": a quote is never closed");
          if (text[at] === '"') {
            if (text[at + 1] !== '"') break;
            at += 1;
          }
          if (text[at] === "\n") line += 1;
          cell += text[at];
        }
        at += 1;
        if (at < text.length && !",\r\n".includes(text[at])) {
          throw new Error("line " + begin + ": text after a closing quote");
        }
      } else {
        plain.lastIndex = at;
        cell = plain.exec(text)[0];
        at += cell.length;
      }
      cells.push(cell);
      if (text[at] !== ",") break;
      at += 1;
    }
    if (text[at] === "\r") at += 1;
    if (text[at] === "\n") at += 1;
    line += 1;
    if (cells.length > 1 || cells[0] !== "") rows.push([begin, cells]);
  }
  return rows;
}

// The answers in a saved table of this sheet; throws an Error that says what is wrong with it.
function readSheet(text) {
  const columns = sheet.columns;
  const rows = parseCsv(text);
  if (rows.length === 0 || rows[0][1].join("\n") !== columns.join("\n")) {
    throw new Error("these are not the columns of this sheet");
  }
  const known = new Set(sheet.rows.map(function (row) { return row[columns.indexOf("item")]; }));
  const found = {};
  for (const [line, cells] of rows.slice(1)) {
    if (cells.length !== columns.length) throw new Error("line " + line + ": cells are missing");
    const named = {};
    columns.forEach(function (name, place) { named[name] = cells[place].trim(); });
    if (named.expert !== sheet.expert) {
      throw new Error("line " + line + ": this is the sheet of " + named.expert.slice(0, 40));
    }
    if (!known.delete(named.item)) {
      throw new Error("line " + line + ": the item " + named.item.slice(0, 40) +
        " is not on this sheet, or was on an earlier line");
    }
    for (const name of sheet.questions) {
      if (named[name] === "") continue;
      if (!sheet.ratings.map(String).includes(named[name])) {
        throw new Error("line " + line + ": " + name + ": " + named[name].slice(0, 40) +
          " is no rating");
      }
      found[named.item + "/" + name] = named[name];
    }
    const comment = fromText(named.comment);
    if (comment) found[named.item + "/comment"] = comment;
  }
  if (known.size > 0) throw new Error(known.size + " items are missing");
  return found;
}
