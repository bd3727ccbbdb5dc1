"use strict";
(() => {
  const make = (tag, name, text) => {
    const made = document.createElement(tag);
    if (name) made.className = name;
    if (text !== undefined) made.textContent = text;
    return made;
  };

  addEventListener("beforeprint", () => {
    for (const more of document.querySelectorAll("details:not(.case)")) more.open = true;
  });

  // -- tables: a button in every header; yardsticks and totals stay last ------------------------

  const value = (row, column, numeric) => {
    const first = row.cells[column].firstChild;
    const text = (first ? first.textContent : "").trim();
    if (!numeric) return text.toLowerCase();
    const share = /^([-+]?[\d.]+)\s*\/\s*([\d.]+)/.exec(text);
    if (share) return Number(share[2]) ? Number(share[1]) / Number(share[2]) : null;
    const number = /^[<>≤]?\s*([-+]?\d+(?:\.\d+)?)/.exec(text);
    return number ? Number(number[1]) : null;
  };
  const place = (row) =>
    row.classList.contains("total") ? 2 : row.classList.contains("yardstick") ? 1 : 0;
  const before = (a, b) =>
    typeof a === "string" ? a.localeCompare(b, "en", {numeric: true}) : a - b;

  const sort = (table, head, order) => {
    const body = table.tBodies[0], column = head.cellIndex;
    const next = {undefined: "ascending", ascending: "descending"}[head.getAttribute("aria-sort")
      ?? undefined];
    for (const one of table.tHead.rows[0].cells) one.removeAttribute("aria-sort");
    if (next) head.setAttribute("aria-sort", next);
    const sign = next === "descending" ? -1 : 1, numeric = head.classList.contains("n");
    const keyed = order.map((row, n) => [row, n, next ? value(row, column, numeric) : 0]);
    keyed.sort(([one, m, a], [other, n, b]) =>
      place(one) - place(other) || (a === null) - (b === null)
        || (a === null ? 0 : sign * before(a, b)) || m - n);
    body.append(...keyed.map(([row]) => row));
    const yards = [...body.rows].filter((row) => row.classList.contains("yardstick"));
    yards.forEach((row, n) => row.classList.toggle("first-yardstick", n === 0));
  };

  for (const table of document.querySelectorAll("table.data")) {
    const order = [...table.tBodies[0].rows];
    if (order.length < 3) continue;
    for (const head of table.tHead.rows[0].cells) {
      const button = make("button", "", head.textContent);
      button.type = "button";
      button.title = "Sort by this column; a third time: as it was";
      button.addEventListener("click", () => sort(table, head, order));
      head.replaceChildren(button);
    }
  }

  // -- disagreements: two timelines side by side, made when they are opened ---------------------

  let data;
  const read = () => (data ??= JSON.parse(document.getElementById("timelines").textContent));
  const word = (n) => read().words[n];
  const seconds = (ms) => `${(ms / 1000).toFixed(2)} s`;

  const lines = ([, end, told]) => {
    const list = make("ol");
    for (const [ms, attempt, what, text, mark] of told) {
      const name = word(mark), item = make("li", name);
      const said = make("span", "", `${word(text)} `);
      if (attempt > 1 && read().what[what] === "try") {
        said.append(make("i", "", `attempt ${attempt} `));
      }
      if (name) said.append(make("i", "mark", name));
      item.append(make("time", "", seconds(ms)), make("b", "", read().what[what]), said);
      list.append(item);
    }
    if (word(end)) list.append(make("li", "end", word(end)));
    return list;
  };
  const faulty = (step) => step && step[2].some((line) => word(line[4]) === "injected");

  const timelines = (pair) => {
    const trials = pair.sides.map((id) => read().trials[id]);
    const table = make("table", "sides"), body = make("tbody"), head = make("tr");
    for (const name of ["Step", ...trials.map((trial) => trial.arm)]) {
      head.append(Object.assign(make("th", "", name), {scope: "col"}));
    }
    table.append(make("thead"), body);
    table.tHead.append(head);
    const whole = (text) => {
      const row = make("tr", "note");
      row.append(Object.assign(make("td", "", text), {colSpan: 3}));
      body.append(row);
    };
    const each = (told) => (told[0] === told[1]
      ? `both ${told[0]}`
      : trials.map((trial, n) => `${trial.arm} ${told[n]}`).join(", "));
    whole(trials.some((trial) => trial.zero !== null)
      ? `The first injected fault, here 0 s: ${each(trials.map((trial) => (trial.zero === null
        ? "met none (0 s is its beginning)"
        : `at ${seconds(trial.zero)} of trial time`)))}.`
      : "Neither trial met an injected fault; 0 s is the beginning.");
    if (trials.some((trial) => trial.from)) {
      whole(`Earlier steps that are not shown: ${each(trials.map((trial) => trial.from))}.`);
    }
    const steps = (side, n) =>
      n < 0 ? undefined : trials[side].steps[n - trials[side].from];
    let alike = [], parted = false;
    const flush = () => {
      if (alike.length) {
        whole(`${alike.length} step(s), alike on both sides: ${alike.join(", ")}`);
      }
      alike = [];
    };
    for (const [i, j, same] of pair.rows) {
      const both = [steps(0, i), steps(1, j)];
      if (!both[0] && !both[1]) continue;
      const title = word((both[0] ?? both[1])[0]) || "between steps";
      if (same && !both.some(faulty)) {
        alike.push(title);
        continue;
      }
      flush();
      const row = make("tr"), label = Object.assign(make("th", "", title), {scope: "row"});
      if (both.some(faulty)) {
        row.className = "fault";
        label.append(make("span", "tag", "fault"));
      }
      if (!same && !parted) {
        parted = true;
        label.append(make("span", "tag", "here they part"));
      }
      row.append(label);
      both.forEach((step, side) => {
        const cell = make("td");
        cell.dataset.arm = trials[side].arm;
        const lacking = [i, j][side] < 0 ? "no such step" : "not shown";
        cell.append(step ? lines(step) : make("span", "nothing", lacking));
        row.append(cell);
      });
      body.append(row);
    }
    flush();
    if (trials.some((trial) => trial.after)) {
      whole(`Later steps that are not shown: ${each(trials.map((trial) => trial.after))}.`);
    }
    return table;
  };

  for (const one of document.querySelectorAll("details.case[data-pair]")) {
    one.addEventListener("toggle", () => {
      const room = one.querySelector(".timelines");
      if (one.open && !room.firstChild) {
        room.append(timelines(read().pairs[Number(one.dataset.pair)]));
      }
    });
  }
})();
