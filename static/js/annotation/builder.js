/**
 * The form of a label configuration on the page of a new project: layers and labels as fields, beside a preview.
 * The text field that the site reads holds the same configuration as JSON, which is YAML too.
 *
 * @typedef {{name: string, color: string, key: string, hint: string, depth?: number}} Label; `depth` counts what holds it
 * @typedef {{type: string, name: string, labels: Label[], required: boolean, directed: boolean, lowest: number,
 *   highest: number, hint: string, condition: Condition | null, questions: Layer[]}} Layer; `questions` are about each mark
 * @typedef {Omit<Layer, "condition" | "directed" | "questions"> & {directed?: boolean, questions?: Exported[],
 *   show_if?: {layer?: string, question?: string, labels: string[]}}} Exported a layer as the site reads it
 * @typedef {{asked: Layer, labels: Label[]}} Condition a choice (for a question also the layer of the mark), and the
 *   labels of which it has to have one
 */
import { chooseInk } from "./marks/colors.js";
import { buildNameWithHint, getIndentClass } from "./marks/labels.js";
import { gettext } from "./page/language.js";
import { createButton, createElement, createField } from "./page/markup.js";

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
const getPart = (id) => document.getElementById(id);

function start() {
  const templates = JSON.parse(getPart("label-templates").textContent);
  const [task, text, root] = [getPart("id_task"), getPart("id_labels"), getPart("builder")];
  const preview = getPart("label-preview").lastElementChild;
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
    root.hidden = getPart("label-preview").hidden = !built;
    getPart("field-labels").hidden = !yaml;
    const marks = layers.find((layer) => MARKS.has(layer.type));
    getPart("field-kind").hidden = built && Boolean(marks);
    nameKinds(built);
    if (built) render();
  }

  const kindWords = [getPart("field-kind").querySelector("label"), ...getPart("id_kind").options];
  const forPrograms = kindWords.map((each) => each.textContent);
  const forAnswers = { boxes: gettext("images"), spans: gettext("texts") };

  /** If nothing is marked, the field says what the items are. @param {boolean} built */
  function nameKinds(built) {
    for (const [index, each] of kindWords.entries()) {
      const words = each.value === undefined ? gettext("Items") : forAnswers[/** @type {"boxes"} */ (each.value)];
      each.textContent = (built && words) || forPrograms[index];
    }
    if (built && !getPart("id_kind").value) getPart("id_kind").value = "spans";
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
    const fillLayer = (/** @type {any} */ { show_if: _condition, ...each }) => ({
      ...createLayer(each.type),
      ...each,
      labels: addDepths(each.labels ?? []),
    });
    layers = given.map((each) => ({ ...fillLayer(each), questions: (each.questions ?? []).map(fillLayer) }));
    for (const [index, { show_if: condition, questions = [] }] of given.entries()) {
      const layer = layers[index];
      setCondition(layer, condition, () => layers.find(({ name }) => name === condition.layer));
      for (const [position, { show_if: needed }] of questions.entries())
        setCondition(layer.questions[position], needed, () =>
          needed.question ? layer.questions.find(({ name }) => name === needed.question) : layer,
        );
    }
  }

  /** @param {Layer} layer or question @param {any} condition as a configuration has it @param {() => Layer | undefined} find */
  function setCondition(layer, condition, find) {
    const asked = condition && find();
    if (!asked) return;
    const labels = asked.labels.filter((/** @type {Label} */ { name }) => condition.labels.includes(name));
    layer.condition = { asked, labels };
  }

  /** The layer that asks a question about its marks. @param {Layer} question */
  const findOwner = (question) => layers.find(({ questions }) => questions.includes(question));

  /** The conditions of a layer: choices before it; a question, also the label of the mark. @param {Layer} layer or question */
  function listChoicesBefore(layer) {
    const owner = findOwner(layer);
    const all = owner?.questions ?? layers;
    const choices = all.slice(0, all.indexOf(layer)).filter(({ type }) => CHOICES.has(type));
    return [...(owner ? [owner] : []), ...choices].filter(({ labels }) => labels.length);
  }

  /** The condition of a layer as the site reads it, if it still makes sense. @param {Layer} layer */
  function exportCondition(layer) {
    const { asked, labels } = layer.condition ?? { asked: layer, labels: [] };
    const kept = labels.filter((label) => asked.labels.includes(label) && label.name.trim());
    const owner = findOwner(layer);
    const needed = !owner ? { layer: asked.name } : owner === asked ? {} : { question: asked.name };
    return listChoicesBefore(layer).includes(asked) && kept.length
      ? { show_if: { ...needed, labels: kept.map(({ name }) => name) } }
      : {};
  }

  /** @param {string} type @returns {Layer} */
  const createLayer = (type) => ({
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

  /** An element whose text follows a name. @param {HTMLElement} element @param {() => string} text */
  function followName(element, text) {
    const rename = () => (element.textContent = text());
    renamings.push(rename);
    rename();
    return element;
  }

  /** Draw the fields again, and go on where the person was. */
  function render() {
    const focused = root.contains(document.activeElement) ? document.activeElement?.id : "";
    renamings = [];
    root.replaceChildren(
      ...layers.map(buildLayerFields),
      createButton(gettext("Add layer"), () => change(() => layers.push(createLayer("choice"))), {
        class: "button second",
      }),
    );
    if (focused) getPart(focused)?.focus();
    writeConfiguration();
  }

  /** @param {() => void} act that changes which fields there are */
  function change(act) {
    act();
    show();
  }

  function writeConfiguration() {
    const kept = layers.map((whole) => {
      const { condition: _condition, questions, ...layer } = dropNamelessLabels(whole);
      const directed = layer.type !== "relations" || layer.directed;
      const asked = MARKS.has(layer.type) ? { questions: questions.map(exportQuestion) } : {};
      return { ...layer, directed, ...asked, ...exportCondition(whole) };
    });
    for (const rename of renamings) rename();
    text.value = JSON.stringify({ layers: kept }, null, 1);
    preview.replaceChildren(...kept.map(buildLayerPreview));
  }

  /** A layer or question without labels that have no name. @param {Layer} layer @returns {Layer} */
  const dropNamelessLabels = (layer) => ({
    ...layer,
    labels: LABELLED.has(layer.type) ? addParents(layer.labels.filter((label) => label.name.trim())) : [],
  });

  /** The labels with the name of what holds each, which follows from how far in they stand. @param {Label[]} labels */
  function addParents(labels) {
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
  function exportQuestion(question) {
    const {
      directed: _directed,
      condition: _condition,
      questions: _questions,
      ...asked
    } = dropNamelessLabels(question);
    return { ...asked, ...exportCondition(question) };
  }

  /** @param {Layer} layer @param {string} id @param {(type: string) => boolean} isOffered */
  function buildTypeSelect(layer, id, isOffered) {
    const type = createElement(
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
        .map(([value, words]) => createElement("option", { value, selected: value === layer.type }, words)),
    );
    return type;
  }

  /** The fields of layers and questions alike. @param {Layer} layer or question @param {string} id @param {(type: string) => boolean} isOffered */
  const buildOwnFields = (layer, id, isOffered) => [
    createField(`${id}-type`, gettext("Type"), buildTypeSelect(layer, id, isOffered)),
    createField(
      `${id}-name`,
      gettext("Name"),
      buildInput(`${id}-name`, layer, "name", { required: true, maxlength: "60" }),
    ),
    createField(
      `${id}-hint`,
      gettext("Hint for annotators"),
      buildInput(`${id}-hint`, layer, "hint", { maxlength: "500" }),
    ),
    layer.type === "rating" ? buildBounds(layer, id) : null,
    LABELLED.has(layer.type) ? buildLabelFields(layer, id) : null,
  ];

  /** The questions about each mark of a layer. @param {Layer} layer @param {string} id */
  function buildQuestionFields(layer, id) {
    const asked = layer.questions.map((question, index) => {
      const own = `${id}-question-${index}`;
      return createElement(
        "fieldset",
        { class: "builder-layer" },
        createElement("legend", {}, gettext("Question %(number)s about each mark", { number: index + 1 })),
        ...buildOwnFields(question, own, (type) => QUESTIONS.has(type)),
        buildCheckbox(question, own, "required", gettext("Annotators have to answer it")),
        buildConditionFields(question, own),
        createButton(gettext("Remove question"), () => change(() => layer.questions.splice(index, 1)), {
          class: "button plain",
          "aria-label": gettext("Remove question %(number)s", { number: index + 1 }),
        }),
      );
    });
    return createElement(
      "div",
      {},
      ...asked,
      createButton(
        gettext("Ask about each mark"),
        () => change(() => layer.questions.push(createLayer("choice"))),
        {
          class: "button second small-button",
          id: `${id}-ask`,
        },
      ),
    );
  }

  /** @param {Layer} layer @param {number} index */
  function buildLayerFields(layer, index) {
    const id = `layer-${index}`;
    return createElement(
      "fieldset",
      { class: "builder-layer" },
      createElement("legend", {}, gettext("Layer %(number)s", { number: index + 1 })),
      ...buildOwnFields(layer, id, () => true),
      MARKS.has(layer.type) ? buildQuestionFields(layer, id) : null,
      buildCheckbox(layer, id, "required", gettext("Annotators have to complete it")),
      layer.type === "relations"
        ? buildCheckbox(layer, id, "directed", gettext("Relations have a direction"))
        : null,
      buildConditionFields(layer, id),
      createButton(gettext("Remove layer"), () => change(() => layers.splice(index, 1)), {
        class: "button plain",
        disabled: layers.length < 2,
        "aria-label": gettext("Remove layer %(number)s", { number: index + 1 }),
      }),
    );
  }

  /** @param {Layer} layer @param {string} id */
  function buildBounds(layer, id) {
    const buildNumberField = (/** @type {"lowest" | "highest"} */ name, /** @type {string} */ words) =>
      createField(
        `${id}-${name}`,
        words,
        buildInput(`${id}-${name}`, layer, name, { type: "number", min: "0", max: "20" }),
      );
    return createElement(
      "div",
      { class: "builder-bounds" },
      buildNumberField("lowest", gettext("Lowest")),
      buildNumberField("highest", gettext("Highest")),
    );
  }

  /** @param {Layer} layer @param {string} id @param {"required" | "directed"} name @param {string} words */
  function buildCheckbox(layer, id, name, words) {
    const box = createElement("input", {
      type: "checkbox",
      id: `${id}-${name}`,
      checked: layer[name],
      onchange() {
        layer[name] = box.checked;
        writeConfiguration();
      },
    });
    return createElement("label", { class: "check" }, box, createElement("span", {}, words));
  }

  /** The answer that shows a layer or question; nothing if it can depend on none. @param {Layer} layer @param {string} id */
  function buildConditionFields(layer, id) {
    const choices = listChoicesBefore(layer);
    const owner = findOwner(layer);
    if (!choices.length) return null;
    const asked = choices.find((each) => each === layer.condition?.asked) ?? null;
    const chosen = new Set(asked ? layer.condition?.labels : []);
    const select = createElement(
      "select",
      {
        id: `${id}-condition`,
        onchange: () =>
          change(() => {
            const next = choices[select.selectedIndex - 1];
            layer.condition = next ? { asked: next, labels: next.labels.slice(0, 1) } : null;
          }),
      },
      createElement("option", { value: "" }, gettext("always")),
      ...choices.map((each) =>
        followName(createElement("option", { selected: each === asked }), () =>
          each === owner
            ? gettext("by the label of the mark")
            : gettext("by the answer of “%(layer)s”", { layer: each.name }),
        ),
      ),
    );
    const answers = (asked?.labels ?? []).map((label, index) => {
      const box = createElement("input", {
        type: "checkbox",
        id: `${id}-if-${index}`,
        checked: chosen.has(label),
        onchange() {
          if (box.checked) chosen.add(label);
          else chosen.delete(label);
          layer.condition = { asked: /** @type {Layer} */ (asked), labels: [...chosen] };
          writeConfiguration();
        },
      });
      return createElement(
        "label",
        { class: "check" },
        box,
        followName(createElement("span", { dir: "auto" }), () => label.name),
      );
    });
    const shows = owner ? gettext("Labels that show the question") : gettext("Answers that show the layer");
    return createElement(
      "div",
      {},
      createField(
        `${id}-condition`,
        owner ? gettext("Ask this question") : gettext("Show this layer"),
        select,
      ),
      asked ? createElement("div", { role: "group", "aria-label": shows }, ...answers) : null,
    );
  }

  /** The deepest indentation of a label: once further than the one above. @param {Layer} layer @param {number} index */
  const computeMostDepth = (layer, index) => (index ? (layer.labels[index - 1].depth ?? 0) + 1 : 0);

  /** @param {Layer} layer @param {string} id */
  function buildLabelFields(layer, id) {
    const rows = layer.labels.map((label, index) => {
      label.depth = Math.min(label.depth ?? 0, computeMostDepth(layer, index));
      const named = { number: index + 1 };
      return createElement(
        "li",
        { class: `builder-label${getIndentClass(label.depth)}` },
        buildInput(`${id}-color-${index}`, label, "color", {
          type: "color",
          "aria-label": gettext("Color of label %(number)s", named),
        }),
        buildInput(`${id}-label-${index}`, label, "name", {
          maxlength: "60",
          "aria-label": gettext("Name of label %(number)s", named),
        }),
        buildInput(`${id}-key-${index}`, label, "key", {
          maxlength: "1",
          class: "builder-key",
          "aria-label": gettext("Key of label %(number)s", named),
        }),
        createButton("×", () => change(() => layer.labels.splice(index, 1)), {
          class: "button second builder-remove",
          "aria-label": gettext("Remove label %(number)s", named),
        }),
        createButton(
          "→",
          () =>
            change(() => (label.depth = Math.min((label.depth ?? 0) + 1, computeMostDepth(layer, index)))),
          {
            class: "button second builder-inside",
            disabled: (label.depth ?? 0) >= computeMostDepth(layer, index),
            id: `${id}-in-${index}`,
            "aria-label": gettext("Put label %(number)s inside the one above", named),
            title: gettext("Put label %(number)s inside the one above", named),
          },
        ),
        createButton("←", () => change(() => (label.depth = (label.depth ?? 0) - 1)), {
          class: "button second builder-inside",
          disabled: !label.depth,
          id: `${id}-out-${index}`,
          "aria-label": gettext("Take label %(number)s out again", named),
          title: gettext("Take label %(number)s out again", named),
        }),
        buildInput(`${id}-hint-${index}`, label, "hint", {
          maxlength: "500",
          class: "builder-hint",
          placeholder: gettext("When to choose it (optional)"),
          "aria-label": gettext("Guideline of label %(number)s", named),
        }),
      );
    });
    const addLabel = () =>
      change(() => {
        // A key chooses a label of the layer or of a question about its marks.
        const whole = layers.find((each) => each === layer || each.questions.includes(layer)) ?? layer;
        const keys = new Set([whole, ...whole.questions].flatMap(({ labels }) => labels.map(({ key }) => key)));
        const key = [..."123456789"].find((each) => !keys.has(each)) ?? "";
        layer.labels.push({ name: "", color: COLORS[layer.labels.length % COLORS.length], key, hint: "" });
        setTimeout(() => getPart(`${id}-label-${layer.labels.length - 1}`)?.focus());
      });
    return createElement(
      "div",
      { role: "group", "aria-label": gettext("Labels") },
      createElement("p", { class: "builder-heading" }, gettext("Labels: color, name, key and guideline")),
      createElement("ul", { class: "builder-labels" }, ...rows),
      createButton(gettext("Add label"), addLabel, { class: "button second small-button" }),
    );
  }

  /**
   * A field that writes into a part of the configuration.
   * @param {string} id @param {any} holder @param {string} name @param {Record<string, any>} properties
   */
  function buildInput(id, holder, name, properties) {
    const input = createElement("input", {
      type: "text",
      id,
      value: String(holder[name] ?? ""),
      oninput() {
        holder[name] = input.type === "number" ? Number(input.value) : input.value;
        writeConfiguration();
      },
      ...properties,
    });
    return input;
  }

  task.addEventListener("change", choose);
  if (text.value.trim()) resume();
  else choose();
}

/** Labels with the number of those that hold each. @param {(Label & {parent?: string})[]} labels @returns {Label[]} */
function addDepths(labels) {
  /** @type {Map<string, number>} */
  const depths = new Map();
  return labels.map((label) => {
    const depth = label.parent ? (depths.get(label.parent) ?? 0) + 1 : 0;
    depths.set(label.name, depth);
    return { ...label, depth };
  });
}

/** When a layer or question is shown. @param {{layer?: string, question?: string, labels: string[]}} condition */
function formatCondition({ layer, question, labels }) {
  const needed = { layer: layer || question || "", labels: labels.join(" / ") };
  return needed.layer ? gettext("Only if “%(layer)s” is %(labels)s", needed) : gettext("Only for %(labels)s", needed);
}

/** @param {Exported} layer @returns {HTMLElement} */
function buildLayerPreview(layer) {
  const buildChip = (/** @type {Label} */ { name, color }) => {
    const chip = createElement("span", { class: "label-chip-small" }, name);
    chip.style.setProperty("--label", color);
    chip.style.setProperty("--label-ink", chooseInk(color));
    return chip;
  };
  const rows = {
    spans: () => [
      createElement(
        "p",
        {},
        ...layer.labels.flatMap((label) => [buildChip(label), " ", buildMarkedWords(label), " … "]),
      ),
    ],
    boxes: buildShapes,
    polygons: buildShapes,
    ellipses: buildShapes,
    points: buildShapes,
    relations: () =>
      layer.labels.map((label) =>
        createElement("p", {}, "… ", buildChip(label), layer.directed ? " → …" : " – …"),
      ),
    choice: () => addDepths(layer.labels).map(createOptionBuilder("radio")),
    choices: () => addDepths(layer.labels).map(createOptionBuilder("checkbox")),
    text: () => [createElement("div", { class: "preview-text" })],
    rating: () =>
      Array.from({ length: Math.min(20, Math.max(0, layer.highest - layer.lowest + 1)) }, (_none, index) =>
        createOptionBuilder("radio")({ name: String(layer.lowest + index), color: "", key: "", hint: "" }),
      ),
  }[layer.type];
  return createElement(
    "div",
    { class: "preview-layer" },
    createElement("strong", { dir: "auto" }, layer.name || "…"),
    layer.hint ? createElement("p", { class: "quiet small", dir: "auto" }, layer.hint) : null,
    layer.show_if ? createElement("p", { class: "quiet small" }, formatCondition(layer.show_if)) : null,
    createElement(
      "div",
      { class: layer.type === "rating" ? "in-a-row label-options" : "" },
      ...(rows?.() ?? []),
    ),
    ...(layer.questions ?? []).map(buildLayerPreview),
  );

  /** @param {Label} label */
  function buildMarkedWords({ color }) {
    const words = createElement("span", { class: "preview-mark" }, gettext("marked words"));
    words.style.setProperty("--label", color);
    return words;
  }

  function buildShapes() {
    return [createElement("div", { class: "preview-boxes" }, ...layer.labels.map(buildShape))];
  }

  /** @param {Label} label */
  function buildShape(label) {
    const box = createElement("span", { class: `preview-box preview-${layer.type}` }, buildChip(label));
    box.style.setProperty("--label", label.color);
    return box;
  }

  /** @param {string} type */
  function createOptionBuilder(type) {
    return (/** @type {Label} */ { name, color, key, hint, depth }) => {
      const swatch = color ? createElement("span", { class: "label-swatch" }) : null;
      swatch?.style.setProperty("--label", color);
      return createElement(
        "div",
        { class: `label-option${getIndentClass(depth)}` },
        createElement("span", { class: `preview-${type}`, "aria-hidden": "true" }),
        swatch,
        buildNameWithHint(name, hint),
        key ? createElement("kbd", {}, key.toUpperCase()) : null,
      );
    };
  }
}

start();
