// Refuses values that decide by themselves what they equal: `toEqual` asks an object with a method
// `asymmetricMatch`, on either side, whether it matches the other value.
// https://jestjs.io/docs/expect#asymmetric-matchers
function _fillratePlain(value, seen = new Set()) {
  if (value === null || typeof value !== "object" || seen.has(value)) {
    return value;
  }
  if (typeof value.asymmetricMatch === "function") {
    throw new Error("a value decides what it equals");
  }
  seen.add(value);
  const isPlain = [Object.prototype, null].includes(Object.getPrototypeOf(value));
  if (isPlain || Array.isArray(value)) {
    for (const { value: part } of Object.values(Object.getOwnPropertyDescriptors(value))) {
      _fillratePlain(part, seen);
    }
  }
  return value;
}
