/**
 * Ids made in the browser, of operations (UUIDs) and of objects. `crypto.randomUUID` is missing if a
 * site is reached by plain http, so they are made of random bytes.
 */

/** @param {number} count @returns {string} that many random bytes in hexadecimal digits */
function createRandomDigits(count) {
  const bytes = crypto.getRandomValues(new Uint8Array(count));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** A random (version 4) UUID. */
export function createOperationId() {
  const random = createRandomDigits(16);
  const variant = "89ab"[parseInt(random[16], 16) % 4];
  const parts = [
    random.slice(0, 8),
    random.slice(8, 12),
    `4${random.slice(13, 16)}`,
    variant + random.slice(17, 20),
    random.slice(20),
  ];
  return parts.join("-");
}

/** Id of a new object. */
export function createObjectId() {
  return "o" + createRandomDigits(8);
}
