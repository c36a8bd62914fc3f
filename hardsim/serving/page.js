"use strict";
// Every answer comes from the command that is shown beside it. Text is set as text: nothing is read as HTML.

const byId = (id) => document.getElementById(id);
const PAUSE = 350; // milliseconds without a key before the text is read
const MOST_WORDS = 40; // words that a list shows
const LISTED = 5; // greatest length of listed words
const FIELDS = ["max_n", "regime", "beta"];
const FIRST = { suffix: "ltl", text: "alphabet: a b c\na S b\n", max_n: "6", regime: "", beta: "" };

const make = (tag, text = "", kind = "") => {
  const made = document.createElement(tag);
  made.textContent = text;
  if (kind) made.className = kind;
  return made;
};

// ---- the state, in the address ----

const NETWORKS = ["check", "trace", "critical"]; // the answers that only a network has: a regular expression has none
const suffix = () => document.querySelector("input[name=suffix]:checked").value;
const typed = () => ({
  suffix: suffix(), text: byId("text").value,
  ...Object.fromEntries(FIELDS.map((name) => [name, byId(name).value.trim()])),
});
const kept = () => new URLSearchParams({ ...typed(), word: wordField.value }).toString();
const keep = () => {
  history.replaceState(null, "", `#${kept()}`);
  URL.revokeObjectURL(byId("save").href);
  byId("save").href = URL.createObjectURL(new Blob([byId("text").value], { type: "text/plain" }));
  byId("save").download = `typed.${suffix()}`;
  byId("save").textContent = `Save as typed.${suffix()}`;
};
const restore = (state) => {
  const one = document.querySelector(`input[name=suffix][value="${CSS.escape(state.suffix || "ltl")}"]`);
  if (one) one.checked = true;
  byId("text").value = state.text ?? "";
  for (const name of FIELDS) byId(name).value = state[name] ?? FIRST[name];
  if (byId("regime").selectedIndex < 0) byId("regime").value = "";
  wordField.value = state.word ?? "";
};

// ---- requests ----

const running = new Map();

// Ask for an answer; a later request of the same kind replaces an earlier one, whose answer is then null.
const ask = async (action, more = {}) => {
  running.get(action)?.abort();
  const control = new AbortController();
  running.set(action, control);
  const { max_n, ...rest } = typed();
  const length = Math.round(Number(max_n)) || 0;
  try {
    const reply = await fetch("run", {
      method: "POST", headers: { "Content-Type": "application/json" }, signal: control.signal,
      body: JSON.stringify({ action, ...rest, max_n: length, ...more }),
    });
    const found = await reply.json();
    if (found.error) return { code: 2, document: null, report: "", remarks: found.error, pictures: {}, command: "" };
    if (found.stopped) found.remarks += `${found.stopped} The command line has no such limit.\n`;
    return found;
  } catch (error) {
    if (error.name === "AbortError") return null;
    const remarks = "The server of this page does not answer: is `hardsim serve` still running?";
    return { code: 4, document: null, report: "", remarks, pictures: {}, command: "" };
  } finally {
    if (running.get(action) === control) running.delete(action);
  }
};

// ---- the parts of the page ----

const copy = async (text, said) => {
  try {
    await navigator.clipboard.writeText(text);
    byId("copied").textContent = said;
  } catch {
    byId("copied").textContent = "The browser does not allow copying.";
  }
};

const part = (name, title) => {
  const section = byId("answer").content.cloneNode(true).firstElementChild;
  section.id = name;
  section.querySelector("h2").textContent = title;
  section.querySelector("h2").id = `${name}-title`;
  section.setAttribute("aria-labelledby", `${name}-title`);
  const code = section.querySelector(".command code");
  section.querySelector(".command button").addEventListener("click", () => copy(code.textContent, "Command copied."));
  byId("answers").append(section);
  return section;
};

const parts = {
  check: part("check", "Verdict"),
  words: part("words", "Words"),
  trace: part("trace", "Attention on one word"),
  classify: part("classify", "Classes of the language"),
  critical: part("critical", "The smallest beta that works"),
};

const clear = (name) => {
  const section = parts[name];
  section.querySelector(".body").replaceChildren();
  for (const other of section.querySelectorAll(".messages, .report, .command")) other.hidden = true;
};

// Lines of messages: all break, but a line of the text and the caret below it do not, so that the caret keeps its place.
const lines = (text) => {
  const all = text.split(/(?<=\n)/), caret = (line) => /^\s*\^+\s*$/.test(line ?? "");
  return all.map((line, k) => make("span", line, caret(line) || caret(all[k + 1]) ? "exact" : "folds"));
};

// Show what the command said besides its report: errors, and remarks that its document has.
const remarks = (place, found) => {
  const failed = found.code !== 0;
  place.replaceChildren(...lines(found.remarks));
  place.hidden = !found.remarks || !(failed || found.document?.notes?.length);
  place.classList.toggle("wrong", failed);
};

// Show an answer: what `draw` makes of its document, then its messages, report and command.
const show = (name, found, draw) => {
  const section = parts[name];
  clear(name);
  const result = found.document?.results?.[0];
  if (result) section.querySelector(".body").append(...draw(result, found));
  const messages = section.querySelector(".messages");
  remarks(messages, found);
  const report = section.querySelector(".report");
  report.querySelector("pre").textContent = found.report;
  report.hidden = !found.report;
  const command = section.querySelector(".command");
  command.querySelector("code").textContent = found.command;
  command.hidden = !found.command;
};

const answer = async (name, draw, more = {}) => {
  parts[name].classList.add("busy");
  const found = await ask(name, more);
  if (!found) return;
  parts[name].classList.remove("busy");
  show(name, found, draw);
};

// ---- answers ----

const GOOD = ["PROVED", "CERTIFIED"], BAD = ["REFUTED", "MISMATCH"];
let alphabet = [], heads = 0; // of the text that was read last
// Words as they are typed: one character a symbol, or symbols apart.
const quoted = (symbol) => (/\s/.test(symbol) ? `'${symbol.replaceAll("'", "''")}'` : symbol);
const spelled = (word) => word.map(quoted).join(alphabet.every((symbol) => [...symbol].length === 1) ? "" : " ");
const shown = (word) => (word.length ? spelled(word) : "(empty)");
const output = (value) => value.map((one) => (one === null ? "?" : String(one))).join(" ");
const said = (value) => {
  if (value === null || value === undefined) return "undecided";
  return Array.isArray(value) ? `gives ${output(value)}` : value ? "accepts" : "rejects";
};
// Why softmax gives no answer, where its output is known: a formula's is exactly 0 or 1.
const between = (found) => {
  const { soft, decided, output } = found;
  if (soft !== null || !decided || output === null || output === undefined || suffix() === "srasp") return "";
  return ` (output ${Number(number(output)).toPrecision(3)}, neither 0 nor 1)`;
};
const answersOf = (found) =>
  [["the text", found.oracle], ["hard attention", found.hard], ["softmax", found.soft]]
    .map(([who, value]) => `${who} ${said(value)}`).join("; ") + between(found);
const plural = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;
const number = (value) => (value === null ? "\u2013" : typeof value === "object" ? value.value : value);

const wordList = (title, words, more, kind) => {
  const list = make("ul", "", "words");
  for (const word of words) {
    const item = make("li"), network = suffix() !== "re";
    const one = make(network ? "button" : "span", shown(word), "word");
    if (network) {
      one.type = "button";
      one.title = "Show the attention on this word";
      one.addEventListener("click", () => trace(spelled(word)));
    }
    item.append(one);
    list.append(item);
  }
  return [make("h3", title, kind), list, ...(more > 0 ? [make("p", `and ${more.toLocaleString("en")} more`, "dim")] : [])];
};

const drawCheck = (result) => {
  const kind = GOOD.includes(result.verdict) ? "right" : BAD.includes(result.verdict) ? "wrong" : "open";
  const line = make("p");
  line.append(make("span", result.verdict, `verdict ${kind}-answer`), `: ${result.reach}`);
  const found = [line];
  const wrong = result.mismatch;
  if (wrong) {
    found.push(make("p", answersOf(wrong)));
    found.push(...wordList("A word with different answers", [wrong.word], 0, "wrong-answer"));
  }
  const outputs = result.shown?.outputs ?? [];
  if (outputs.length) {
    const texts = outputs.map((one) => `${shown(one.word)} \u2192 ${output(one.output)}`);
    found.push(make("p", `Outputs: ${texts.join(", ")}`));
  }
  if (result.parting) {
    const { layer, head, purpose } = result.parting;
    found.push(make("p", `Softmax leaves hard attention at head ${head} of layer ${layer}: ${purpose}`));
  }
  return found;
};

// The words of each length, in order, until enough are found that are not accepted.
const rejected = (symbols, accepted, most) => {
  const inside = new Set(accepted.map((word) => JSON.stringify(word))), found = [];
  for (let words = [[]], n = 1; n <= most && found.length < MOST_WORDS && symbols.length ** n < 1e6; n++) {
    words = words.flatMap((word) => symbols.map((symbol) => [...word, symbol]));
    found.push(...words.filter((word) => !inside.has(JSON.stringify(word))));
  }
  return found.slice(0, MOST_WORDS);
};

const drawWords = (result) => {
  const { accepted, max_n } = result;
  // The words of an automaton are found without trying the others, which are counted here.
  let tried = suffix() === "re" ? 0 : result.tried;
  if (suffix() === "re") for (let n = 1; n <= max_n; n++) tried += alphabet.length ** n;
  const others = tried - accepted.length;
  const out = rejected(alphabet, accepted, max_n);
  const choice = suffix() === "re" ? "" : "; choose one to see its attention";
  const about = `of the ${tried.toLocaleString("en")} words up to length ${max_n}${choice}`;
  return [
    make("p", about, "dim"),
    ...wordList(`${accepted.length.toLocaleString("en")} accepted`, accepted.slice(0, MOST_WORDS),
      accepted.length - MOST_WORDS, "right-answer"),
    ...wordList(`${others.toLocaleString("en")} rejected`, out, others - out.length, "wrong-answer"),
  ];
};

const table = (head, rows) => {
  const made = make("table"), scroll = make("div", "", "scroll");
  const top = made.createTHead().insertRow(), body = made.createTBody();
  for (const text of head) {
    const cell = make("th", text);
    cell.scope = "col";
    top.append(cell);
  }
  for (const row of rows) {
    const line = body.insertRow();
    for (const text of row) line.append(make("td", String(text)));
  }
  scroll.append(made);
  return scroll;
};

const drawClasses = (result) => {
  const { states, monoid, classes } = result.classification;
  const holds = (one) => (one.holds === null ? `undecided: ${one.reason}` : one.holds ? "yes" : "no");
  const sizes = [`minimal automaton: ${plural(number(states), "state")}`, ...(monoid === null ? [] : [`monoid: ${plural(number(monoid), "element")}`])];
  return [
    make("p", sizes.join("; ")),
    table(["class", "in it", "transformers for it"], classes.map((one) => [one.name, holds(one), one.transformers])),
  ];
};

const NO_HEADS = "This network has no attention heads: there is nothing to draw.";
const drawTrace = (result, found) => {
  const drawn = [make("p", answersOf(result.answers))];
  if (!result.model.heads) drawn.push(make("p", NO_HEADS, "dim"));
  const svg = found.pictures["maps.svg"];
  if (svg) {
    const image = make("img"), frame = make("div", "", "scroll");
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
    image.alt = `Attention weights on ${shown(result.word)}: each head, hard attention beside softmax. Rows read columns.`;
    frame.tabIndex = 0;
    frame.setAttribute("role", "region");
    frame.setAttribute("aria-label", "attention maps");
    frame.append(image);
    drawn.push(frame);
  }
  return drawn;
};

const drawCritical = (result) => {
  const { every_length: every, lengths } = result, found = [];
  if (every) {
    found.push(make("p", `Every length: right at beta ${number(every.right_at)}.`));
    if (every.word) {
      const text = `Wrong at beta ${number(every.wrong_at)} on a word of length ${every.word.length}`;
      found.push(...wordList(text, [every.word], 0, "wrong-answer"));
    }
  } else if (result.reason) {
    found.push(make("p", `Not for every length: ${result.reason}`));
  }
  const rows = lengths.map((one) => [
    one.n, number(one.wrong_at), number(one.right_at), one.word ? shown(one.word) : "\u2013",
  ]);
  return [...found, table(["length", "wrong at beta", "right at beta", "wrong on"], rows)];
};

// ---- what the user does ----

const controls = (name, ...made) => parts[name].querySelector(".controls").append(...made);
const wordField = make("input");
wordField.id = "word";
wordField.maxLength = 1000;
wordField.size = 16;
wordField.autocomplete = "off";
wordField.autocapitalize = "off";
wordField.spellcheck = false;
const wordLabel = make("label", "word ");
wordLabel.append(wordField);
const draw = make("button", "Show");
draw.type = "button";
const whole = make("button", "Save a page with all numbers");
whole.type = "button";
controls("trace", wordLabel, draw, whole);
const smallest = make("button", "Find it");
smallest.type = "button";
controls("critical", smallest, make("span", "This may take a while.", "dim"));

const trace = (word, scroll = true) => {
  wordField.value = word;
  keep();
  if (scroll) parts.trace.scrollIntoView({ block: "nearest" });
  return answer("trace", drawTrace, { word, picture: heads ? "maps.svg" : "" });
};

const savePage = async () => {
  const found = await ask("trace", { word: wordField.value, picture: "maps.html" });
  const page = found?.pictures["maps.html"];
  if (!page) return found && show("trace", found, drawTrace);
  const link = make("a");
  link.href = URL.createObjectURL(new Blob([page], { type: "text/html" }));
  link.download = "maps.html";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
};

// Read the text: its errors first, and if there are none all quick answers.
const read = async () => {
  keep();
  byId("status").textContent = "Reading \u2026";
  const found = await ask("show");
  if (!found) return;
  const failed = found.code !== 0;
  remarks(byId("errors"), found);
  alphabet = found.document?.inputs?.[0]?.alphabet ?? [];
  heads = found.document?.results?.[0]?.model?.heads ?? 0;
  whole.disabled = !heads;
  whole.title = heads || failed ? "" : NO_HEADS;
  byId("text").setAttribute("aria-invalid", String(failed));
  const model = found.document?.results?.[0]?.model;
  const size = model ? `: ${plural(model.layers, "layer")}, ${plural(model.heads, "head")}, dimension ${model.dimension}` : "";
  byId("status").textContent = failed ? "" : `No errors${size}.`;
  for (const name of ["trace", "critical"]) clear(name);
  const network = suffix() !== "re";
  for (const name of NETWORKS) parts[name].hidden = !network;
  if (failed) {
    clear("check");
    // The text may be right, and only its network not: words and classes need none.
    const chosen = byId("regime").value || byId("beta").value;
    const plain = chosen && network ? await ask("show", { regime: "", beta: "" }) : found;
    if (!plain) return;
    if (plain.code !== 0) {
      for (const name of ["words", "classify"]) clear(name);
      return;
    }
  }
  const quick = [
    ...(network && !failed ? [answer("check", drawCheck)] : []),
    answer("words", drawWords, { max_n: Math.min(LISTED, Math.round(Number(byId("max_n").value)) || 0) }),
  ];
  await Promise.all(quick);
  await answer("classify", drawClasses);
  if (network && !failed && wordField.value) await trace(wordField.value, false);
};

let timer = 0;
const soon = () => {
  clearTimeout(timer);
  timer = setTimeout(read, PAUSE);
};
const changed = () => {
  // Answers to an older text are no longer wanted.
  for (const control of running.values()) control.abort();
  for (const section of Object.values(parts)) section.classList.remove("busy");
  byId("status").textContent = "\u2026";
  soon();
};

byId("text").addEventListener("input", changed);
for (const name of FIELDS) byId(name).addEventListener("input", changed);
for (const one of document.querySelectorAll("input[name=suffix]")) one.addEventListener("change", changed);
byId("run").addEventListener("click", read);
document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    clearTimeout(timer);
    read();
  }
});
byId("link").addEventListener("click", () => {
  keep();
  copy(location.href, "Link copied.");
});
draw.addEventListener("click", () => trace(wordField.value));
wordField.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.ctrlKey && !event.metaKey) trace(wordField.value);
});
whole.addEventListener("click", savePage);
smallest.addEventListener("click", () => answer("critical", drawCritical));

// ---- lessons, and the start ----

const choose = (lesson) => {
  const about = byId("about");
  about.replaceChildren();
  if (!lesson) return;
  about.append(make("p", lesson.text), make("p", `Question: ${lesson.question}`));
  restore({ ...FIRST, ...lesson, text: lesson.program });
  changed();
};

const start = async () => {
  const given = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  restore("text" in given ? given : FIRST);
  const lessons = await (await fetch("lessons.json")).json();
  lessons.forEach((lesson, index) => byId("lesson").append(new Option(`${index + 1}. ${lesson.title}`, String(index))));
  byId("lesson").addEventListener("change", (event) => choose(lessons[event.target.value]));
  await read();
};

window.addEventListener("hashchange", () => {
  const given = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  if ("text" in given && location.hash.slice(1) !== kept()) {
    restore(given);
    changed();
  }
});

start();
