// Own answers: words that are chosen in the articles go into the text field, which can be typed in as well. And the
// time that is left: the page is sent when it is over, and the server decides by its own clock.

/** @type {HTMLFormElement} */
const form = document.querySelector("form.questions");
/** @type {HTMLTextAreaElement} */
const field = form?.querySelector("textarea[name=initial_answer], textarea[name=final_answer]");
/** @type {HTMLElement} */
const hint = document.querySelector(".choose-words");

/** Put each word of a paragraph into an element of its own, and return them in order. @param {HTMLElement} paragraph */
function splitWords(paragraph) {
  const walker = document.createTreeWalker(paragraph, NodeFilter.SHOW_TEXT);
  const texts = [];
  while (walker.nextNode()) {
    if (!walker.currentNode.parentElement.closest(".visually-hidden")) texts.push(walker.currentNode);
  }
  const words = [];
  for (const text of /** @type {Text[]} */ (texts)) {
    const parts = document.createDocumentFragment();
    for (const part of text.data.split(/(\s+)/)) {
      if (!part.trim()) {
        parts.append(part);
        continue;
      }
      const word = document.createElement("span");
      word.className = "word";
      word.textContent = part;
      words.push(word);
      parts.append(word);
    }
    text.replaceWith(parts);
  }
  return words;
}

/** Return the text of words without the punctuation around them. @param {HTMLElement[]} words */
function formatAnswer(words) {
  const text = words.map((word) => word.textContent).join(" ");
  return text.replace(/^[^\p{L}\p{N}$€£]+|[^\p{L}\p{N}%)]+$/gu, "");
}

class Chooser {
  /** @param {HTMLElement} paragraph @param {HTMLElement[]} words @param {HTMLElement} status */
  constructor(paragraph, words, status) {
    this.paragraph = paragraph;
    this.words = words;
    this.status = status;
    /** @type {number | null} */
    this.first = null; // the first word of a choice that is not ended
    this.at = 0; // where the keyboard is
    paragraph.classList.add("choosable");
    paragraph.tabIndex = 0;
    paragraph.setAttribute("aria-describedby", hint.id);
    paragraph.addEventListener("click", ({ target }) =>
      this.handleClick(/** @type {Element} */ (target).closest(".word")),
    );
    paragraph.addEventListener("keydown", (event) => this.handleKey(event));
    paragraph.addEventListener("focus", () => paragraph.matches(":focus-visible") && this.move(this.at));
    paragraph.addEventListener("blur", () => this.words[this.at]?.classList.remove("at"));
  }

  /** @param {HTMLElement | null} word */
  handleClick(word) {
    if (!word || !getSelection().isCollapsed) return; // a selection that was dragged is taken by itself
    this.choose(this.words.indexOf(word));
  }

  /**
   * The first choice takes one word, the second all from there to here, the third begins again.
   * @param {number} index
   */
  choose(index) {
    const start = this.first;
    this.first = start === null ? index : null;
    this.take(Math.min(start ?? index, index), Math.max(start ?? index, index));
  }

  /** @param {number} from @param {number} to */
  take(from, to) {
    const chosen = this.words.slice(from, to + 1);
    for (const word of document.querySelectorAll(".word.chosen")) word.classList.remove("chosen");
    for (const word of chosen) word.classList.add("chosen");
    for (const other of choosers) if (other !== this) other.first = null;
    field.value = formatAnswer(chosen).slice(0, field.maxLength);
    this.status.textContent = `${hint.dataset.taken} ${field.value}`;
    chooseOtherAnswer();
    for (const name of ["input", "change"]) field.dispatchEvent(new Event(name, { bubbles: true }));
  }

  /** @param {number} index */
  move(index) {
    this.words[this.at]?.classList.remove("at");
    this.at = Math.max(0, Math.min(this.words.length - 1, index));
    const word = this.words[this.at];
    word?.classList.add("at");
    word?.scrollIntoView({ block: "nearest" });
    this.status.textContent = word?.textContent ?? "";
  }

  /** @param {KeyboardEvent} event */
  handleKey(event) {
    /** @type {Record<string, number>} */
    const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 8, ArrowUp: -8 };
    if (event.key in steps) this.move(this.at + steps[event.key]);
    else if (event.key === "Home") this.move(0);
    else if (event.key === "End") this.move(this.words.length - 1);
    else if (event.key === "Enter" || event.key === " ") this.choose(this.at);
    else if (event.key === "Escape") this.first = null;
    else return;
    event.preventDefault();
  }
}

/** Words that are chosen on the final page are another answer. */
function chooseOtherAnswer() {
  /** @type {HTMLInputElement} */
  const other = form.querySelector("input[name=final_choice][value=other]");
  if (!other || other.checked) return;
  other.checked = true;
  other.dispatchEvent(new Event("change", { bubbles: true }));
}

/** A selection that was dragged over words of a paragraph is taken, whole words of it. */
function takeSelection() {
  const selection = getSelection();
  if (selection.isCollapsed || !selection.rangeCount) return;
  const range = selection.getRangeAt(0);
  for (const chooser of choosers) {
    const touched = chooser.words.flatMap((word, index) => (range.intersectsNode(word) ? [index] : []));
    if (!touched.length) continue;
    chooser.first = null;
    chooser.take(touched[0], touched.at(-1));
    selection.removeAllRanges();
    return;
  }
}

/** @type {Chooser[]} */
const choosers = [];
if (field && hint) {
  const status = document.createElement("p");
  status.className = "visually-hidden";
  status.setAttribute("role", "status");
  hint.id = "choose-words";
  /** @type {NodeListOf<HTMLElement>} */
  const paragraphs = document.querySelectorAll(".show .article p");
  hint.hidden = !paragraphs.length;
  hint.after(status);
  for (const paragraph of paragraphs) {
    const words = splitWords(paragraph);
    if (words.length) choosers.push(new Chooser(paragraph, words, status));
  }
  document.addEventListener("pointerup", () => setTimeout(takeSelection));
}

/** @type {HTMLElement} */
const timer = document.querySelector(".time-left");
if (timer && form) {
  timer.classList.add("ticking");
  const end = performance.now() + 1000 * Number(timer.dataset.seconds);
  const tick = () => {
    const left = Math.max(0, Math.ceil((end - performance.now()) / 1000));
    timer.textContent = `${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")}`;
    timer.classList.toggle("ending", left <= 10);
    // Without a network the browser would show its own error page, from which nobody finds the way on.
    if (left || !navigator.onLine) return;
    clearInterval(ticking);
    const over = document.createElement("input");
    Object.assign(over, { type: "hidden", name: "time_is_up", value: "1" });
    form.append(over);
    form.requestSubmit();
  };
  const ticking = setInterval(tick, 250);
  tick();
}
