/**
 * The types that the modules of the editor share; those of the site's JSON are described in
 * docs/reference/annotation-editor.md.
 *
 * @typedef {"boxes" | "spans"} Kind
 * @typedef {"open" | "done" | "nothing" | "unsure"} State
 * @typedef {"draw" | "choose" | "link" | "answer" | "relate" | "compute"} Role
 * @typedef {boolean | number | string | null} Value
 * @typedef {[number, number, number, number]} Rect left, top, right, bottom as fractions of the image
 * @typedef {[number, number]} Corner from the left and from the top, as fractions of the image
 * @typedef {[number, number]} Range start and end, end exclusive
 *
 * @typedef {Object} Thing an object of a layer: a box, a span, a choice (`ref`) of a child's object, or an
 *   answer (`value`) of a plain task
 * @property {string} id
 * @property {number} [image]
 * @property {Rect} [box] of polygons, ellipses and points: the box around them
 * @property {Corner[]} [polygon]
 * @property {Corner} [point]
 * @property {"ellipse"} [shape]
 * @property {Range} [span] code points
 * @property {Range} [tokens]
 * @property {string} [quote]
 * @property {string} [ref]
 * @property {string[]} [links]
 * @property {string} [reason]
 * @property {string} [label] of a mark or relation of a plain task
 * @property {Record<string, (string | number)[]>} [answers] what a person says about a mark, by the name of the question
 * @property {[string, string]} [ends] of a relation: the ids of two marks
 * @property {Value} [value]
 * @property {Origin} [suggested] the suggestion of a model that it was accepted from
 *
 * @typedef {{by: string, id: string, changed?: boolean}} Origin `by` is system@revision
 * @typedef {{state: State, objects: Thing[], value?: Value, note: string, rejected?: string[]}} Layer
 * @typedef {{kind: string, node: number | null, note: string}} Problem
 * @typedef {{layers: Record<string, Layer>, problem: Problem | null}} Document
 *
 * @typedef {Object} Node
 * @property {number} index
 * @property {string} module
 * @property {string | null} argument
 * @property {string} label
 * @property {string} type
 * @property {Role} role
 * @property {number[]} children
 * @property {number} depth
 * @property {string} words the step in plain words
 * @property {LabelLayer} [layer] what people mark or answer, in a plain task
 * @property {number} representative index of the first equal subtree, whose layer this node shares
 *
 * @typedef {{type: "spans" | "boxes" | "polygons" | "ellipses" | "points" | "relations" | "choice" | "choices" | "text" | "rating", labels: {name: string, color: string,
 *   key: string, hint: string, depth?: number}[], required: boolean, directed: boolean, lowest: number, highest: number, hint: string, show_if: {layer: string, labels: string[]} | null, questions: Question[]}} LabelLayer
 *   `show_if` hides a layer until the choice of that name has one of the labels; `questions` are about each of its marks, and `depth` counts the labels that hold a label
 * @typedef {{type: "choice" | "choices" | "text" | "rating", name: string, labels: {name: string, color: string, key: string, hint: string, depth?: number}[],
 *   required: boolean, lowest: number, highest: number, hint: string, show_if?: {question: string, labels: string[]} | null}} Question
 *   `show_if` limits it to marks with one of the labels, or to those of which the choice `question` has one
 * @typedef {{text: string, walk: number[], nodes: Node[]}} RawProgram
 *
 * @typedef {Object} Change one act of a person: what it says about one layer, about others that follow (`also`),
 *   or about the whole program (`problem`)
 * @property {number} node
 * @property {Thing[]} [put]
 * @property {string[]} [remove]
 * @property {State} [state]
 * @property {string} [note]
 * @property {string[]} [rejected] ids of all suggestions that are turned down at this node
 * @property {Problem | null} [problem]
 * @property {Change[]} [also]
 * @property {string} [undoes]
 *
 * @typedef {Change & {id: string, base: number}} Operation
 * @typedef {{id: string, revision: number | null, operation: Operation, inverse: Change, undoes: string | null}} Entry
 *
 * @typedef {Object} Item
 * @property {string | number} id
 * @property {string} external_id
 * @property {Kind} kind
 * @property {string} text
 * @property {Value} answer
 * @property {string} passage
 * @property {Range[]} tokens code points of each token
 * @property {{url: string, width: number | null, height: number | null, name: string}[]} images
 *
 * @typedef {{id: string | number, node: number | null, object: string | null, text: string, by: string, at: string,
 *   resolved: boolean}} Comment
 *
 * @typedef {{index: number, module: string, probabilities?: number[], attention?: number[], value?: Value}} ModuleOutput
 * @typedef {Place & {id: string, ends?: [string, string]}} Suggested what a model suggests at a node; the `ends` of a
 *   relation are suggestions, too
 * @typedef {{system: string, revision: string, proposals: number[][][], modules: ModuleOutput[], score: number | null,
 *   suggestions: Record<string, Suggested[]>}} Prediction
 *
 * @typedef {Place & {letters: string[], ends?: Place[], said?: Record<string, Record<string, (string | number)[]>>}} Cluster
 *   objects of several people that mean the same, and their middle; `said` is what each says about it, by question
 * @typedef {{states: Record<string, State>, clusters: Cluster[]}} Others
 *
 * @typedef {Object} Annotation
 * @property {string | number} id
 * @property {number} revision
 * @property {string} status
 * @property {string} task
 * @property {string | null} reserved_until
 * @property {Item} item
 * @property {RawProgram} program
 * @property {Document} document
 * @property {Value[]} values
 * @property {Value[][]} runs values of each node in every run: for the left and the right image alone, or once
 * @property {boolean | null} mismatch
 * @property {Record<string, {version: number | string, text: string}>} guidelines
 * @property {Comment[]} comments
 * @property {Prediction[] | null} predictions
 * @property {Record<string, Others> | null} others what the annotators marked, by node; null while annotating
 * @property {Entry[]} history
 * @property {Record<string, string>} keys
 *
 * @typedef {{image?: number, box?: Rect, polygon?: Corner[], point?: Corner, shape?: "ellipse", line?: Corner[], span?: Range,
 *   tokens?: Range, quote?: string, probability?: number, label?: string, value?: Value, answers?: Record<string, (string | number)[]>, suggested?: Origin}} Place
 *   where an object lies; of a suggestion also how likely it is
 *
 * @typedef {Object} InPlay an object that the person can act on while working on a node
 * @property {string} id
 * @property {Thing} thing
 * @property {Place} mark
 * @property {boolean} own in the node's own layer, and so movable
 * @property {number} from node whose layer it lies in
 * @property {string | null} chosen id of the choice that takes it over, if the node chooses
 */
export {};
