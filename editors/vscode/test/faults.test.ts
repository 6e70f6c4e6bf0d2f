import assert from "node:assert/strict";
import { test } from "node:test";
import { judged } from "../src/doctor";
import { faultOf } from "../src/faults";
import { addressProblem } from "../src/providers";

test("a fault says its cause, then what to do", () => {
  const { text, actions } = faultOf({
    state: "fault",
    cause: "model or address is unknown",
    message: "the model's server answered 404: <html>nginx</html> (http://127.0.0.1:1/infill)",
    advice: "Check `model.name`.",
  });
  assert.equal(text, "Model or address is unknown. Check `model.name`.");
  assert.deepEqual(actions, ["openConfiguration", "pickModel", "showLog"]);
});

test("a vague cause has the first sentence of the server's words, unless they are a page", () => {
  const failed = (words: string) =>
    faultOf({
      state: "fault",
      cause: "the model's server failed",
      message: `the model's server answered 501: ${words} (http://127.0.0.1:1/infill)`,
      advice: "Check it.",
    }).text;
  const infill = "Infill is not supported by this model";
  const said = `The model's server failed: “${infill}”. Check it.`;
  assert.equal(failed(`${infill}: prefix token is missing. suffix token is missing`), said);
  assert.equal(failed(infill), said);
  assert.equal(failed("<html>nginx</html>"), "The model's server failed. Check it.");
});

test("a fault of the settings says where it is", () => {
  const { text } = faultOf({
    state: "fault",
    cause: "the settings can't be used",
    message: "/c/fillrate.toml:3: there is no key `modle`",
  });
  assert.equal(text, "The settings can't be used. /c/fillrate.toml:3: there is no key `modle`.");
});

test("a key that is missing or refused can be entered", () => {
  const missing = faultOf({
    state: "fault",
    cause: "the settings can't be used",
    message: "[models.a]: model: the environment variable A_KEY, which key_env names, is not set.",
  });
  assert.match(missing.text, /^A key is missing\. Enter the one for A_KEY/);
  assert.equal(missing.actions[0], "enterKey");
  assert.equal(faultOf({ state: "fault", cause: "the key was refused" }).actions[0], "enterKey");
});

test("a diagnosis gives advice and leaves bodies to the log", () => {
  const fault = (text: string) => judged(1, "  requests x\n", `fillrate: ${text}`);
  assert.equal(
    fault("tcp connect error: http://127.0.0.1:1/infill cannot be reached. Start it.").text,
    "Start it.",
  );
  const body =
    "the model's server answered 404: not here (http://a/b). Nothing (http://a:1/v1). Check it.";
  assert.equal(fault(body).text, "Check it.");
  assert.ok(fault(body).output.includes("not here"));
  assert.equal(fault("the model's server answered 500: oh").text, "The log has the reason.");
  assert.equal(fault(body).status, 404);
  assert.equal(fault("the variable A is not set.").status, undefined);
  assert.equal(fault("the variable A is not set.").text, "the variable A is not set.");
  assert.deepEqual(judged(0, "  ok\nThe family fits.\n", ""), {
    kind: "fits",
    text: "The family fits.",
    output: "  ok\nThe family fits.",
    answered: false,
    needsFamily: false,
  });
  const unknown = fault(`model: the name "m" identifies no model family: ${"x, ".repeat(200)}`);
  assert.equal(unknown.needsFamily, true);
  assert.equal(unknown.text.length, 240);
  assert.equal(judged(3, "1 of 3 holes\n", "").kind, "misfits");
  assert.equal(judged(1, "  model    a\n  ok       b\n", "fillrate: slow").answered, true);
});

test("an address without a scheme gets one proposed", () => {
  assert.equal(addressProblem("http://127.0.0.1:8080"), undefined);
  assert.match(addressProblem("localhost:8080") ?? "", /Put http:\/\/ or https:\/\/ before it/);
  assert.match(addressProblem("127.0.0.1:1") ?? "", /before it: http:\/\/127\.0\.0\.1:1$/);
  assert.match(addressProblem("my server") ?? "", /an address such as/);
  assert.match(addressProblem("http://") ?? "", /an address such as/);
  assert.match(addressProblem("https://me:secret@host") ?? "", /the key is asked for later/);
});
