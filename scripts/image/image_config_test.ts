import assert from "node:assert/strict";
import { KONNECTOR_IMAGE } from "../../common/api/names.ts";
import { IMAGES } from "./image_config.ts";

Deno.test("IMAGES has the image that the install manifest of the konnector names", () => {
  assert.equal(KONNECTOR_IMAGE, `${IMAGES.konnector.repository}:latest`);
});
