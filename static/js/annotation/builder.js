/**
 * The form of a label configuration on the page of a new project: layers and labels as fields, beside a preview.
 * The text field that the site reads holds the same configuration as JSON, which is YAML too.
 *
 * @typedef {{name: string, color: string, key: string, hint: string, depth?: number}} Label; `depth` counts what holds it
 * @typedef {{type: string, name: string, labels: Label[], required: boolean, directed: boolean, lowest: number,
 *   highest: number, hint: string, condition: Condition | null, questions: Layer[]}} Layer; `questions` are about each mark
 * @typedef {{asked: Layer, labels: Label[]}} Condition a choice (for a question also the layer of the mark), and the
 *   labels of which it has to have one
 */
import { gettext } from "./language.js";
import { button, element, field } from "./markup.js";
import { inkOn } from "./colors.js";
import { insideOf, namedWithHint } from "./labels.js";

const TYPES = /** @type {Record<string, string>} */ ({
  spans: gettext("Spans in a text, with labels"),
  boxes: gettext("Boxes in an image, with labels"),
  polygons: gettext("Polygons in an image, with labels"),
  ellipses: gettext("Ellipses in an image, with labels"),
  points: gettext("Key points in an image, with labels"),
  relations: gettext("Relations between marks"),
  choice: gettext("One choice"),
  choices: gettext("Several choices"),
  text: gettext("Text"),
  rating: gettext("Rating"),
});
const COLORS = ["#1d6fb8", "#c2410c", "#15803d", "#7e22ce", "#a16207", "#be185d", "#0f766e", "#4338ca"];
const MARKS = new Set(["spans", "boxes", "polygons", "ellipses", "points"]);
const CHOICES = new Set(["choice", "choices"]);
const LABELLED = new Set([...MARKS, "relations", ...CHOICES]);
const QUESTIONS = new Set([...CHOICES, "text", "rating"]);

/** @param {string} id @returns {any} */
const part = (id) => document.getElementById(id);

function start() {
  const templates = JSON.parse(part("label-templates").textContent);
  const [task, text, root] = [part("id_task"), part("id_labels"), part("builder")];
  const preview = part("label-preview").lastElementChild;
  /** @type {Layer[]} */
  let layers = [];

  function choose() {
    const built = task.value in templates;
    if (built) take(structuredClone(templates[task.value]));
    show();
  }

  function show() {
    const built = task.value in templates;
    const yaml = task.value === "yaml";
    root.hidden = part("label-preview").hidden = !built;
    part("field-labels").hidden = !yaml;
    const marks = layers.find((layer) => MARKS.has(layer.type));
    part("field-kind").hidden = built && Boolean(marks);
    nameKinds(built);
    if (built) render();
  }

  const kindWords = [part("field-kind").querySelector("label"), ...part("id_kind").options];
  const forPrograms = kindWords.map((each) => each.textContent);
  const forAnswers = { boxes: gettext("images"), spans: gettext("texts") };

  /** If nothing is marked, the field says what the items are. @param {boolean} built */
  function nameKinds(built) {
    for (const [index, each] of kindWords.entries()) {
      const words = each.value === undefined ? gettext("Items") : forAnswers[/** @type {"boxes"} */ (each.value)];
      each.textContent = (built && words) || forPrograms[index];
    }
    if (built && !part("id_kind").value) part("id_kind").value = "spans";
  }

  /** Take up what was sent before, if it was refused. */
  function resume() {
    try {
      take(JSON.parse(text.value).layers);
      show();
    } catch {
      choose();
    }
  }

  /** Take up layers as a configuration has them, with conditions by name. @param {any[]} given */
  function take(given) {
    const filled = (/** @type {any} */ { show_if: _condition, ...each }) => ({
      ...blank(each.type),
      ...each,
      labels: withDepths(each.labels ?? []),
    });
    layers = given.map((each) => ({ ...filled(each), questions: (each.questions ?? []).map(filled) }));
    for (const [index, { show_if: condition, questions = [] }] of given.entries()) {
      const layer = layers[index];
      depend(layer, condition, () => layers.find(({ name }) => name === condition.layer));
      for (const [place, { show_if: needed }] of questions.entries())
        depend(layer.questions[place], needed, () =>
          needed.question ? layer.questions.find(({ name }) => name === needed.question) : layer,
        );
    }
  }

  /** @param {Layer} layer or question @param {any} condition as a configuration has it @param {() => Layer | undefined} find */
  function depend(layer, condition, find) {
    const asked = condition && find();
    if (!asked) return;
    const labels = asked.labels.filter((/** @type {Label} */ { name }) => condition.labels.includes(name));
    layer.condition = { asked, labels };
  }

  /** The layer that asks a question about its marks. @param {Layer} question */
  const ownerOf = (question) => layers.find(({ questions }) => questions.includes(question));

  /** The conditions of a layer: choices before it; a question, also the label of the mark. @param {Layer} layer or question */
  function choicesBefore(layer) {
    const owner = ownerOf(layer);
    const all = owner?.questions ?? layers;
    const choices = all.slice(0, all.indexOf(layer)).filter(({ type }) => CHOICES.has(type));
    return [...(owner ? [owner] : []), ...choices].filter(({ labels }) => labels.length);
  }

  /** The condition of a layer as the site reads it, if it still makes sense. @param {Layer} layer */
  function conditionOf(layer) {
    const { asked, labels } = layer.condition ?? { asked: layer, labels: [] };
    const kept = labels.filter((label) => asked.labels.includes(label) && label.name.trim());
    const owner = ownerOf(layer);
    const needed = !owner ? { layer: asked.name } : owner === asked ? {} : { question: asked.name };
    return choicesBefore(layer).includes(asked) && kept.length
      ? { show_if: { ...needed, labels: kept.map(({ name }) => name) } }
      : {};
  }

  /** @param {string} type @returns {Layer} */
  const blank = (type) => ({
    type,
    name: "",
    labels: [],
    required: true,
    directed: true,
    lowest: 1,
    highest: 5,
    hint: "",
    condition: null,
    questions: [],
  });

  /** Write names of layers and labels again where conditions show them. @type {(() => void)[]} */
  let renamings = [];

  /** An element whose text follows a name. @param {HTMLElement} made @param {() => string} text */
  function following(made, text) {
    const rename = () => (made.textContent = text());
    renamings.push(rename);
    rename();
    return made;
  }

  /** Draw the fields again, and go on where the person was. */
  function render() {
    const focused = root.contains(document.activeElement) ? document.activeElement?.id : "";
    renamings = [];
    root.replaceChildren(
      ...layers.map(layerFields),
      button(gettext("Add layer"), () => change(() => layers.push(blank("choice"))), { class: "button second" }),
    );
    if (focused) part(focused)?.focus();
    changed();
  }

  /** @param {() => void} act that changes which fields there are */
  function change(act) {
    act();
    show();
  }

  function changed() {
    const kept = layers.map((whole) => {
      const { condition: _condition, questions, ...layer } = withNamed(whole);
      const directed = layer.type !== "relations" || layer.directed;
      const asked = MARKS.has(layer.type) ? { questions: questions.map(asQuestion) } : {};
      return { ...layer, directed, ...asked, ...conditionOf(whole) };
    });
    for (const rename of renamings) rename();
    text.value = JSON.stringify({ layers: kept }, null, 1);
    preview.replaceChildren(...kept.map(layerPreview));
  }

  /** A layer or question without labels that have no name. @param {Layer} layer @returns {Layer} */
  const withNamed = (layer) => ({
    ...layer,
    labels: LABELLED.has(layer.type) ? withParents(layer.labels.filter((label) => label.name.trim())) : [],
  });

  /** The labels with the name of what holds each, which follows from how far in they stand. @param {Label[]} labels */
  function withParents(labels) {
    /** @type {string[]} */
    const above = [];
    return labels.map(({ depth = 0, ...label }) => {
      above.splice(depth);
      const parent = above.at(-1) ?? "";
      above.push(label.name);
      return { ...label, parent };
    });
  }

  /** @param {Layer} question */
  function asQuestion(question) {
    const { directed: _directed, condition: _condition, questions: _questions, ...asked } = withNamed(question);
    return { ...asked, ...conditionOf(question) };
  }

  /** @param {Layer} layer @param {string} id @param {(type: string) => boolean} isOffered */
  function typeOf(layer, id, isOffered) {
    const type = element(
      "select",
      {
        id: `${id}-type`,
        onchange: () =>
          change(() => {
            layer.type = type.value;
          }),
      },
      ...Object.entries(TYPES)
        .filter(([value]) => isOffered(value))
        .map(([value, words]) => element("option", { value, selected: value === layer.type }, words)),
    );
    return type;
  }

  /** The fields of layers and questions alike. @param {Layer} layer or question @param {string} id @param {(type: string) => boolean} isOffered */
  const ownFields = (layer, id, isOffered) => [
    field(`${id}-type`, gettext("Type"), typeOf(layer, id, isOffered)),
    field(`${id}-name`, gettext("Name"), input(`${id}-name`, layer, "name", { required: true, maxlength: "60" })),
    field(`${id}-hint`, gettext("Hint for annotators"), input(`${id}-hint`, layer, "hint", { maxlength: "500" })),
    layer.type === "rating" ? bounds(layer, id) : null,
    LABELLED.has(layer.type) ? labelFields(layer, id) : null,
  ];

  /** The questions about each mark of a layer. @param {Layer} layer @param {string} id */
  function questionFields(layer, id) {
    const asked = layer.questions.map((question, index) => {
      const own = `${id}-question-${index}`;
      return element(
        "fieldset",
        { class: "builder-layer" },
        element("legend", {}, gettext("Question %(number)s about each mark", { number: index + 1 })),
        ...ownFields(question, own, (type) => QUESTIONS.has(type)),
        checked(question, own, "required", gettext("Annotators have to answer it")),
        condition(question, own),
        button(gettext("Remove question"), () => change(() => layer.questions.splice(index, 1)), {
          class: "button plain",
          "aria-label": gettext("Remove question %(number)s", { number: index + 1 }),
        }),
      );
    });
    return element(
      "div",
      {},
      ...asked,
      button(gettext("Ask about each mark"), () => change(() => layer.questions.push(blank("choice"))), {
        class: "button second small-button",
        id: `${id}-ask`,
      }),
    );
  }

  /** @param {Layer} layer @param {number} index */
  function layerFields(layer, index) {
    const id = `layer-${index}`;
    return element(
      "fieldset",
      { class: "builder-layer" },
      element("legend", {}, gettext("Layer %(number)s", { number: index + 1 })),
      ...ownFields(layer, id, () => true),
      MARKS.has(layer.type) ? questionFields(layer, id) : null,
      checked(layer, id, "required", gettext("Annotators have to complete it")),
      layer.type === "relations" ? checked(layer, id, "directed", gettext("Relations have a direction")) : null,
      condition(layer, id),
      button(gettext("Remove layer"), () => change(() => layers.splice(index, 1)), {
        class: "button plain",
        disabled: layers.length < 2,
        "aria-label": gettext("Remove layer %(number)s", { number: index + 1 }),
      }),
    );
  }

  /** @param {Layer} layer @param {string} id */
  function bounds(layer, id) {
    const number = (/** @type {"lowest" | "highest"} */ name, /** @type {string} */ words) =>
      field(`${id}-${name}`, words, input(`${id}-${name}`, layer, name, { type: "number", min: "0", max: "20" }));
    return element("div", { class: "builder-bounds" }, number("lowest", gettext("Lowest")), number("highest", gettext("Highest")));
  }

  /** @param {Layer} layer @param {string} id @param {"required" | "directed"} name @param {string} words */
  function checked(layer, id, name, words) {
    const box = element("input", {
      type: "checkbox",
      id: `${id}-${name}`,
      checked: layer[name],
      onchange() {
        layer[name] = box.checked;
        changed();
      },
    });
    return element("label", { class: "check" }, box, element("span", {}, words));
  }

  /** The answer that shows a layer or question; nothing if it can depend on none. @param {Layer} layer @param {string} id */
  function condition(layer, id) {
    const choices = choicesBefore(layer);
    const owner = ownerOf(layer);
    if (!choices.length) return null;
    const asked = choices.find((each) => each === layer.condition?.asked) ?? null;
    const chosen = new Set(asked ? layer.condition?.labels : []);
    const select = element(
      "select",
      {
        id: `${id}-condition`,
        onchange: () =>
          change(() => {
            const next = choices[select.selectedIndex - 1];
            layer.condition = next ? { asked: next, labels: next.labels.slice(0, 1) } : null;
          }),
      },
      element("option", { value: "" }, gettext("always")),
      ...choices.map((each) =>
        following(element("option", { selected: each === asked }), () =>
          each === owner
            ? gettext("by the label of the mark")
            : gettext("by the answer of “%(layer)s”", { layer: each.name }),
        ),
      ),
    );
    const answers = (asked?.labels ?? []).map((label, index) => {
      const box = element("input", {
        type: "checkbox",
        id: `${id}-if-${index}`,
        checked: chosen.has(label),
        onchange() {
          if (box.checked) chosen.add(label);
          else chosen.delete(label);
          layer.condition = { asked: /** @type {Layer} */ (asked), labels: [...chosen] };
          changed();
        },
      });
      return element("label", { class: "check" }, box, following(element("span", { dir: "auto" }), () => label.name));
    });
    const shows = owner ? gettext("Labels that show the question") : gettext("Answers that show the layer");
    return element(
      "div",
      {},
      field(`${id}-condition`, owner ? gettext("Ask this question") : gettext("Show this layer"), select),
      asked ? element("div", { role: "group", "aria-label": shows }, ...answers) : null,
    );
  }

  /** The deepest indentation of a label: once further than the one above. @param {Layer} layer @param {number} index */
  const mostDepth = (layer, index) => (index ? (layer.labels[index - 1].depth ?? 0) + 1 : 0);

  /** @param {Layer} layer @param {string} id */
  function labelFields(layer, id) {
    const rows = layer.labels.map((label, index) => {
      label.depth = Math.min(label.depth ?? 0, mostDepth(layer, index));
      const named = { number: index + 1 };
      return element(
        "li",
        { class: `builder-label${insideOf(label.depth)}` },
        input(`${id}-color-${index}`, label, "color", {
          type: "color",
          "aria-label": gettext("Color of label %(number)s", named),
        }),
        input(`${id}-label-${index}`, label, "name", {
          maxlength: "60",
          "aria-label": gettext("Name of label %(number)s", named),
        }),
        input(`${id}-key-${index}`, label, "key", {
          maxlength: "1",
          class: "builder-key",
          "aria-label": gettext("Key of label %(number)s", named),
        }),
        button("×", () => change(() => layer.labels.splice(index, 1)), {
          class: "button second builder-remove",
          "aria-label": gettext("Remove label %(number)s", named),
        }),
        button("→", () => change(() => (label.depth = Math.min((label.depth ?? 0) + 1, mostDepth(layer, index)))), {
          class: "button second builder-inside",
          disabled: (label.depth ?? 0) >= mostDepth(layer, index),
          id: `${id}-in-${index}`,
          "aria-label": gettext("Put label %(number)s inside the one above", named),
        }),
        button("←", () => change(() => (label.depth = (label.depth ?? 0) - 1)), {
          class: "button second builder-inside",
          disabled: !label.depth,
          id: `${id}-out-${index}`,
          "aria-label": gettext("Take label %(number)s out again", named),
        }),
        input(`${id}-hint-${index}`, label, "hint", {
          maxlength: "500",
          class: "builder-hint",
          placeholder: gettext("When to choose it (optional)"),
          "aria-label": gettext("Guideline of label %(number)s", named),
        }),
      );
    });
    const add = () =>
      change(() => {
        // A key chooses a label of the layer or of a question about its marks.
        const whole = layers.find((each) => each === layer || each.questions.includes(layer)) ?? layer;
        const keys = new Set([whole, ...whole.questions].flatMap(({ labels }) => labels.map(({ key }) => key)));
        const key = [..."123456789"].find((each) => !keys.has(each)) ?? "";
        layer.labels.push({ name: "", color: COLORS[layer.labels.length % COLORS.length], key, hint: "" });
        setTimeout(() => part(`${id}-label-${layer.labels.length - 1}`)?.focus());
      });
    return element(
      "div",
      { role: "group", "aria-label": gettext("Labels") },
      element("p", { class: "builder-heading" }, gettext("Labels: color, name, key and guideline")),
      element("ul", { class: "builder-labels" }, ...rows),
      button(gettext("Add label"), add, { class: "button second small-button" }),
    );
  }

  /**
   * A field that writes into a part of the configuration.
   * @param {string} id @param {any} holder @param {string} name @param {Record<string, any>} properties
   */
  function input(id, holder, name, properties) {
    const made = element("input", {
      type: "text",
      id,
      value: String(holder[name] ?? ""),
      oninput() {
        holder[name] = made.type === "number" ? Number(made.value) : made.value;
        changed();
      },
      ...properties,
    });
    return made;
  }

  task.addEventListener("change", choose);
  if (text.value.trim()) resume();
  else choose();
}

/** Labels with the number of those that hold each. @param {(Label & {parent?: string})[]} labels @returns {Label[]} */
function withDepths(labels) {
  /** @type {Map<string, number>} */
  const depths = new Map();
  return labels.map((label) => {
    const depth = label.parent ? (depths.get(label.parent) ?? 0) + 1 : 0;
    depths.set(label.name, depth);
    return { ...label, depth };
  });
}

/** When a layer or question is shown. @param {{layer?: string, question?: string, labels: string[]}} condition */
function conditionText({ layer, question, labels }) {
  const needed = { layer: layer || question || "", labels: labels.join(" / ") };
  return needed.layer ? gettext("Only if “%(layer)s” is %(labels)s", needed) : gettext("Only for %(labels)s", needed);
}

/** @param {Layer & {show_if?: {layer?: string, question?: string, labels: string[]}}} layer */
function layerPreview(layer) {
  const chip = (/** @type {Label} */ { name, color }) => {
    const made = element("span", { class: "label-chip-small" }, name);
    made.style.setProperty("--label", color);
    made.style.setProperty("--label-ink", inkOn(color));
    return made;
  };
  const rows = {
    spans: () => [
      element("p", {}, ...layer.labels.flatMap((label) => [chip(label), " ", marked(label), " … "])),
    ],
    boxes: shapes,
    polygons: shapes,
    ellipses: shapes,
    points: shapes,
    relations: () => layer.labels.map((label) => element("p", {}, "… ", chip(label), layer.directed ? " → …" : " – …")),
    choice: () => withDepths(layer.labels).map(option("radio")),
    choices: () => withDepths(layer.labels).map(option("checkbox")),
    text: () => [element("div", { class: "preview-text" })],
    rating: () =>
      Array.from({ length: Math.min(20, Math.max(0, layer.highest - layer.lowest + 1)) }, (_none, index) =>
        option("radio")({ name: String(layer.lowest + index), color: "", key: "", hint: "" }),
      ),
  }[layer.type];
  return element(
    "div",
    { class: "preview-layer" },
    element("strong", { dir: "auto" }, layer.name || "…"),
    layer.hint ? element("p", { class: "quiet small", dir: "auto" }, layer.hint) : null,
    layer.show_if ? element("p", { class: "quiet small" }, conditionText(layer.show_if)) : null,
    element("div", { class: layer.type === "rating" ? "in-a-row label-options" : "" }, ...(rows?.() ?? [])),
    ...(layer.questions ?? []).map(layerPreview),
  );

  /** @param {Label} label */
  function marked({ color }) {
    const made = element("span", { class: "preview-mark" }, gettext("marked words"));
    made.style.setProperty("--label", color);
    return made;
  }

  function shapes() {
    return [element("div", { class: "preview-boxes" }, ...layer.labels.map(boxed))];
  }

  /** @param {Label} label */
  function boxed(label) {
    const made = element("span", { class: `preview-box preview-${layer.type}` }, chip(label));
    made.style.setProperty("--label", label.color);
    return made;
  }

  /** @param {string} type */
  function option(type) {
    return (/** @type {Label} */ { name, color, key, hint, depth }) => {
      const swatch = color ? element("span", { class: "label-swatch" }) : null;
      swatch?.style.setProperty("--label", color);
      return element(
        "div",
        { class: `label-option${insideOf(depth)}` },
        element("span", { class: `preview-${type}`, "aria-hidden": "true" }),
        swatch,
        namedWithHint(name, hint),
        key ? element("kbd", {}, key.toUpperCase()) : null,
      );
    };
  }
}

start();
