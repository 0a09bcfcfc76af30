// Shows the REST API, and sends requests with the login of this page or with a pasted token.

const place = document.getElementById("api");
const READING = ["GET", "HEAD", "OPTIONS"];

window.SwaggerUIBundle({
  domNode: place,
  url: place.dataset.schema,
  presets: [window.SwaggerUIBundle.presets.apis],
  layout: "BaseLayout",
  docExpansion: "none",
  defaultModelsExpandDepth: -1,
  filter: true,
  deepLinking: true,
  validatorUrl: null, // it would send the document to another site
  requestInterceptor(request) {
    const ours = new URL(request.url, window.location.href).origin === window.location.origin;
    if (ours && !READING.includes((request.method || "GET").toUpperCase())) {
      request.headers["X-CSRFToken"] = place.dataset.csrf;
    }
    return request;
  },
});
