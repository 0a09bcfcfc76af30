/**
 * Comments on the current node or its selected object: reading, writing, resolving.
 *
 * @typedef {import("../document/store.js").Store} Store
 * @typedef {import("../document/types.js").Comment} Comment
 */
import { LANGUAGE, gettext } from "../page/language.js";
import { createButton, createElement } from "../page/markup.js";

/**
 * @param {Store} store @param {HTMLElement} root
 * @param {ReturnType<typeof import("../page/site.js").createSite>} site @param {(text: string) => void} announce
 */
export function createComments(store, root, site, announce) {
  const list = createElement("ul", { class: "comment-list" });
  const text = createElement("textarea", {
    id: "comment-text",
    rows: "2",
    maxlength: "2000",
    required: true,
  });
  const label = createElement("label", { for: "comment-text" });
  const error = createElement("p", { class: "error-text", role: "alert", hidden: true });
  const form = createElement(
    "form",
    { class: "comment-form" },
    label,
    text,
    error,
    createElement(
      "div",
      { class: "actions" },
      createElement("button", { class: "button second small-button" }, gettext("Comment")),
    ),
  );
  const summary = createElement("summary", {});
  const box = createElement("details", { class: "comments" }, summary, list, form);
  root.append(box);

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    await act(async () => {
      const comment = await site.comment({ node: store.node, object: store.object, text: text.value.trim() });
      store.comments = [...store.comments, comment];
      text.value = "";
      announce(gettext("Comment added."));
    });
  });

  /** @param {() => Promise<void>} doing */
  async function act(doing) {
    error.hidden = true;
    try {
      await doing();
      store.tell("comments");
    } catch (failure) {
      error.textContent = /** @type {Error} */ (failure).message;
      error.hidden = false;
    }
  }

  /** @param {Comment} comment */
  function buildRow(comment) {
    const when = new Date(comment.at);
    const time = createElement(
      "time",
      { datetime: comment.at },
      Number.isNaN(when.valueOf())
        ? ""
        : when.toLocaleString(LANGUAGE, { dateStyle: "medium", timeStyle: "short" }),
    );
    const about =
      comment.object && store.objects.some((each) => each.id === comment.object)
        ? createButton(gettext("show object"), () => store.select(comment.object), { class: "button plain" })
        : null;
    const resolve = comment.resolved
      ? createElement("span", { class: "quiet" }, gettext("✓ resolved"))
      : createButton(
          gettext("Resolve"),
          () => act(async () => settle(await site.resolve(comment.id), comment)),
          {
            class: "button plain",
          },
        );
    return createElement(
      "li",
      { class: comment.resolved ? "resolved" : "" },
      createElement("p", {}, comment.text),
      createElement("p", { class: "quiet small byline" }, `${comment.by}, `, time, " ", about, " ", resolve),
    );
  }

  /** @param {Comment | null} answer @param {Comment} comment */
  function settle(answer, comment) {
    store.comments = store.comments.map((each) =>
      each.id === comment.id ? { ...each, ...answer, resolved: true } : each,
    );
  }

  function render() {
    const here = store.comments.filter((each) => each.node === store.node || each.node === null);
    const open = here.filter((each) => !each.resolved).length;
    summary.textContent = open ? gettext("Comments (%(count)s open)", { count: open }) : gettext("Comments");
    label.textContent = store.object
      ? gettext("Comment on the selected object")
      : gettext("Comment on this step");
    list.replaceChildren(...here.map(buildRow));
    list.hidden = !here.length;
    if (open) box.open = true;
  }

  store.subscribe((topics) => {
    if (topics.has("comments") || topics.has("node") || topics.has("object")) render();
  });
  render();
  return {
    focus() {
      box.open = true;
      text.focus();
    },
  };
}
