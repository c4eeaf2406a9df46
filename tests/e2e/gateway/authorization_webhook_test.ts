import assert from "node:assert/strict";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { freePort } from "../../../scripts/controlplane/free_port.ts";
import { providerKubeconfig } from "../../../common/consumer/bundle.ts";
import { XbindError } from "../../../common/errors.ts";
import { AccessReviews, EXPORT_ACCESS } from "../../../server/authorization/access_reviews.ts";
import { Authorizer } from "../../../server/authorization/authorizer.ts";
import { ReviewPace } from "../../../server/authorization/review_pace.ts";
import { allowUser } from "../../support/planes/allow_user.ts";
import { ownPlane } from "../../support/planes/control_planes.ts";
import { connect } from "../../support/planes/kube.ts";

const PREFIXES = { authorizationUserPrefix: "xbind:", authorizationGroupPrefix: "xbind:" };
const ADA = { subject: "idp#ada" };

/** A webhook that nobody answers. */
const webhook = () =>
  providerKubeconfig({ server: `http://127.0.0.1:${freePort()}`, token: "unused" });

Deno.test("an authorizer that fails makes a refusal no answer", async (t) => {
  const config = await Deno.makeTempFile({ suffix: ".json" });
  await Deno.writeTextFile(config, JSON.stringify(webhook()));
  await using plane = await ownPlane({
    controllerManager: false,
    apiServerArgs: [
      "--authorization-mode=Webhook", // after RBAC,
      `--authorization-webhook-config-file=${config}`,
    ],
  });
  using admin = await connect(plane);
  const rules = [{ apiGroups: ["catalog.xbind.io"], resources: ["exports"], verbs: ["get"] }];
  await allowUser(plane, `xbind:${ADA.subject}`, rules);
  const { kube } = admin;
  const isUnavailable = (error: unknown) =>
    error instanceof XbindError && error.code === "UNAVAILABLE";

  await t.step("of one review", async () => {
    const reviews = new AccessReviews({ kube, pace: new ReviewPace() });
    const user = { user: `xbind:${ADA.subject}`, groups: [] };
    const question = (verb: "get" | "bind") => ({ verb, resource: EXPORT_ACCESS, name: "pg" });
    await eventually("the role is in effect", () => reviews.isAllowed(user, question("get")));
    await assert.rejects(reviews.isAllowed(user, question("bind")), /authorizers failed/);
  });
  await t.step("of all questions", async () => {
    const authorizer = new Authorizer({ kube, prefixes: PREFIXES });
    await authorizer.checkSee(ADA, "pg");
    await assert.rejects(authorizer.mayBind(ADA, "pg"), isUnavailable);
    await assert.rejects(authorizer.checkBind(ADA, "pg"), isUnavailable);
    await assert.rejects(authorizer.mayListGrants(ADA), isUnavailable);
    await assert.rejects(authorizer.catalogRights(ADA, () => ["pg"]), isUnavailable);
  });
  await Deno.remove(config);
});
