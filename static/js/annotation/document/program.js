/**
 * The program of an item and what a person can act on at each of its nodes. Equal subtrees share one layer,
 * that of their representative, and places of choices follow the objects that they refer to.
 *
 * @typedef {import("./types.js").Node} Node
 * @typedef {import("./types.js").Document} Document
 * @typedef {import("./types.js").Layer} Layer
 * @typedef {import("./types.js").Thing} Thing
 * @typedef {import("./types.js").Place} Place
 * @typedef {import("./types.js").InPlay} InPlay
 * @typedef {{thing: Thing, mark: Place, from: number}} Placed
 * @typedef {ReturnType<typeof createProgram>} Program
 */

/** @type {Layer} */
const EMPTY = Object.freeze({ state: /** @type {const} */ ("open"), objects: [], note: "" });

/** @param {import("./types.js").RawProgram} raw */
export function createProgram({ text, walk, nodes }) {
  const marks = nodes.filter(({ layer, role }) => layer && role === "draw").map(({ index }) => index);
  const below = nodes.map(({ role }, index) => (role === "relate" ? marks : listLayersBelow(nodes, index)));

  return {
    text,
    walk,
    nodes,
    /**
     * Layers whose objects a node works on. Computed nodes hand on those of their own children, and relations
     * connect the marks of all layers.
     * @param {number} index
     */
    getLayersBelow: (index) => below[index],
    /** All nodes with children before their parents: the order in which they are listed and worked on. */
    bottomUp: listNodesBottomUp(nodes).filter((index) => walk.includes(nodes[index].representative)),
    /** True if people mark and answer layers beside each other, and nothing is computed. */
    isPlain: nodes.some((node) => node.layer),
    /** The choice that each conditional layer depends on, in their order. */
    conditions: readConditions(nodes),
    /** Nodes that a person has to say something about. */
    asked: walk.filter((index) => nodes[index].layer?.required ?? nodes[index].role !== "compute"),
  };
}

/** @param {Node[]} nodes @returns {Map<number, {node: number, labels: string[]}>} */
function readConditions(nodes) {
  const places = new Map(nodes.filter(({ layer }) => layer).map(({ index, module }) => [module, index]));
  return new Map(
    nodes.flatMap(({ index, layer }) =>
      layer?.show_if ? [[index, { node: places.get(layer.show_if.layer) ?? 0, labels: layer.show_if.labels }]] : [],
    ),
  );
}

/** @param {Node[]} nodes @param {number} index @returns {number[]} */
function listLayersBelow(nodes, index) {
  const layers = nodes[index].children.flatMap((child) =>
    nodes[child].role === "compute" ? listLayersBelow(nodes, child) : [nodes[child].representative],
  );
  return [...new Set(layers)];
}

/** @param {Node[]} nodes @param {number} [index] @returns {number[]} */
function listNodesBottomUp(nodes, index = 0) {
  return [...nodes[index].children.flatMap((child) => listNodesBottomUp(nodes, child)), index];
}

/** @param {Document} document @param {number} node @returns {Layer} */
export function getLayer(document, node) {
  return document.layers[node] ?? EMPTY;
}

/** @type {WeakMap<Thing[], Map<string, Thing>>} layers never change in place, so each is indexed once */
const INDEXED = new WeakMap();

/** @param {Layer} layer @param {string} id @returns {Thing | undefined} */
export function findThing(layer, id) {
  let index = INDEXED.get(layer.objects);
  if (!index) {
    index = new Map(layer.objects.map((thing) => [thing.id, thing]));
    INDEXED.set(layer.objects, index);
  }
  return index.get(id);
}

/**
 * Return true if an object is the relation of these marks with this label; their order counts in directed ones.
 * @param {Program} program @param {number} node @param {Thing} thing @param {(string | null)[]} ends @param {string} [label]
 */
export function isRelationBetween(program, node, thing, ends, label) {
  const directed = program.nodes[node].layer?.directed;
  const joinEnds = (/** @type {(string | null)[]} */ both) => (directed ? both : [...both].sort()).join(" ");
  return Boolean(thing.ends) && thing.label === label && joinEnds(thing.ends ?? []) === joinEnds(ends);
}

/**
 * The object that a choice refers to in the end; null if it is gone.
 * @param {Program} program @param {Document} document @param {number} node @param {Thing} thing
 * @returns {Thing | null}
 */
export function resolveChoice(program, document, node, thing) {
  if (thing.ref === undefined) return thing;
  for (const layer of program.getLayersBelow(node)) {
    const target = findThing(getLayer(document, layer), thing.ref);
    if (target) return resolveChoice(program, document, layer, target);
  }
  return null;
}

/** Images that a computed module leaves out. @type {Record<string, (mark: Place) => boolean>} */
const KEEPS = {
  "in-left-image": (mark) => mark.image === 0,
  "in-right-image": (mark) => mark.image === 1,
};

/**
 * Return the objects of a node with places; a computed one hands on those of its children. Choices whose object
 * is gone are left out.
 * @param {Program} program @param {Document} document @param {number} index @returns {Placed[]}
 */
export function listPlacedObjects(program, document, index) {
  const { role, module, representative, children } = program.nodes[index];
  if (role === "compute") {
    const all = children.flatMap((child) => listPlacedObjects(program, document, child));
    return KEEPS[module] ? all.filter(({ mark }) => KEEPS[module](mark)) : all;
  }
  const placed = [];
  for (const thing of getLayer(document, representative).objects) {
    const mark = resolveChoice(program, document, representative, thing);
    if (mark) placed.push({ thing, mark, from: representative });
  }
  return placed;
}

/**
 * The objects that a person can select at a node: its own, and before them, if it chooses, those of its
 * first child to choose among, and if it relates, all marks.
 * @param {Program} program @param {Document} document @param {number} node
 * @returns {InPlay[]}
 */
export function listObjectsInPlay(program, document, node) {
  const { role, children } = program.nodes[node];
  if (role === "compute" || role === "answer") return [];
  const own = getLayer(document, node).objects;
  /** @type {InPlay[]} */
  const objects = [];
  if (role === "relate") {
    const layers = program.getLayersBelow(node);
    const marks = layers.flatMap((layer) => listPlacedObjects(program, document, layer));
    for (const { thing, mark, from } of marks)
      objects.push({ id: thing.id, thing, mark, own: false, from, chosen: null });
  }
  if (role === "choose") {
    const chosen = new Map(
      own.filter((thing) => thing.ref !== undefined).map((thing) => [thing.ref, thing.id]),
    );
    for (const { thing, mark, from } of listPlacedObjects(program, document, children[0])) {
      objects.push({ id: thing.id, thing, mark, own: false, from, chosen: chosen.get(thing.id) ?? null });
    }
  }
  for (const thing of own) {
    if (thing.ref === undefined)
      objects.push({ id: thing.id, thing, mark: thing, own: true, from: node, chosen: null });
  }
  return objects;
}

/**
 * Objects of the children that are looked at while working on a node, but not acted on; at a node that links,
 * they are the sources.
 * @param {Program} program @param {Document} document @param {number} node @returns {Placed[]}
 */
export function listContext(program, document, node) {
  const { role, children } = program.nodes[node];
  const seen = new Set();
  if (role === "relate") return [];
  if (program.isPlain)
    return program.walk
      .filter((other) => other !== node && program.nodes[other].role === "draw")
      .flatMap((other) => listPlacedObjects(program, document, other));
  const looked = role === "choose" ? children.slice(1) : children;
  return looked
    .flatMap((child) => listPlacedObjects(program, document, child))
    .filter(({ thing }) => !seen.has(thing.id) && seen.add(thing.id));
}

/**
 * The number of objects of a link node that name no source although its children have objects.
 * @param {Program} program @param {Document} document @param {number} node
 */
export function countUnlinkedObjects(program, document, node) {
  if (program.nodes[node].role !== "link") return 0;
  return listContext(program, document, node).length
    ? getLayer(document, node).objects.filter((thing) => !thing.links?.length).length
    : 0;
}

/**
 * Return true if a node or one below it is still open, so that its value may be missing for that.
 * @param {Program} program @param {Document} document @param {number} index @returns {boolean}
 */
export function isWaiting(program, document, index) {
  const { role, representative, children } = program.nodes[index];
  return (
    (role !== "compute" && isOpen(document, representative)) ||
    children.some((child) => isWaiting(program, document, child))
  );
}

/** @type {WeakMap<Document, Set<number>>} documents never change in place */
const HIDDEN = new WeakMap();

/**
 * The layers of a plain task whose condition does not hold. A hidden choice shows no other layer.
 * @param {Program} program @param {Document} document @returns {Set<number>}
 */
export function findHiddenLayers(program, document) {
  const cached = HIDDEN.get(document);
  if (cached) return cached;
  /** @type {Set<number>} */
  const hidden = new Set();
  for (const [index, { node, labels }] of program.conditions) {
    const answers = hidden.has(node) ? [] : getLayer(document, node).objects;
    if (!answers.some(({ value }) => labels.includes(String(value)))) hidden.add(index);
  }
  HIDDEN.set(document, hidden);
  return hidden;
}

/**
 * The questions about a mark whose conditions hold. A choice that is not asked shows no other question.
 * @param {import("./types.js").LabelLayer | undefined} layer @param {Pick<import("./types.js").Thing, "label" | "answers">} mark
 */
export function listAskedQuestions(layer, { label, answers }) {
  /** @type {Set<string>} */
  const asked = new Set();
  return (layer?.questions ?? []).filter(({ name, show_if: needed }) => {
    const given = !needed?.question ? [label] : asked.has(needed.question) ? (answers?.[needed.question] ?? []) : [];
    const isAsked = !needed || given.some((each) => needed.labels.includes(String(each)));
    if (isAsked) asked.add(name);
    return isAsked;
  });
}

/**
 * The required questions about its marks that a node leaves open.
 * @param {Program} program @param {Document} document @param {number} index
 * @returns {{id: string, question: string}[]}
 */
export function listUnansweredQuestions(program, document, index) {
  const { layer } = program.nodes[index];
  if (!layer?.questions.some(({ required }) => required)) return [];
  return getLayer(document, index).objects.flatMap((mark) =>
    listAskedQuestions(layer, mark)
      .filter(({ name, required }) => required && !mark.answers?.[name])
      .map(({ name }) => ({ id: mark.id, question: name })),
  );
}

/** Return true if a node is done, but for questions about its marks. @param {Program} program @param {Document} document @param {number} index */
export function isMissingAnswers(program, document, index) {
  return (
    getLayer(document, index).state === "done" && listUnansweredQuestions(program, document, index).length > 0
  );
}

/** Return true if a node is still open. @param {Document} document @param {number} node */
export function isOpen(document, node) {
  return getLayer(document, node).state === "open";
}
