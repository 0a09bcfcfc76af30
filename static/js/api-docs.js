// Shows the REST API, and sends requests with the login of this page or with a pasted token.

/** @typedef {{(options: object): void, presets: {apis: unknown}}} SwaggerUI */
/** @typedef {(name: string, isContainer?: boolean) => unknown} GetComponent */

const container = document.getElementById("api");
const READING = ["GET", "HEAD", "OPTIONS"];

// Without the title and the <main> of Swagger UI's own layouts, both of which the page around it has.
/** @param {{React: {createElement: (...parts: unknown[]) => unknown}}} system */
function createParts(system) {
  const draw = system.React.createElement;
  /** @param {{getComponent: GetComponent, specSelectors: {loadingStatus: () => string}}} parts */
  const Parts = ({ getComponent, specSelectors }) => {
    if (specSelectors.loadingStatus() !== "success") return draw(getComponent("errors", true));
    return draw(
      "div",
      { className: "swagger-ui" },
      draw(getComponent("SvgAssets")),
      draw(getComponent("errors", true)),
      draw("div", { className: "wrapper auth" }, draw(getComponent("AuthorizeBtnContainer", true))),
      draw(getComponent("FilterContainer", true)),
      draw("div", { className: "wrapper" }, draw(getComponent("operations", true))),
    );
  };
  return { components: { Parts } };
}

const page = /** @type {typeof window & {SwaggerUIBundle: SwaggerUI}} */ (window);
page.SwaggerUIBundle({
  domNode: container,
  url: container.dataset.schema,
  presets: [page.SwaggerUIBundle.presets.apis],
  plugins: [createParts],
  layout: "Parts",
  docExpansion: "none",
  defaultModelsExpandDepth: -1,
  filter: true,
  deepLinking: false, // its links lie inside of buttons, where a keyboard does not reach them
  validatorUrl: null, // it would send the document to another site
  /** @param {{url: string, method?: string, headers: Record<string, string>}} request */
  requestInterceptor(request) {
    const ours = new URL(request.url, window.location.href).origin === window.location.origin;
    if (ours && !READING.includes((request.method || "GET").toUpperCase())) {
      request.headers["X-CSRFToken"] = container.dataset.csrf;
    }
    return request;
  },
});
