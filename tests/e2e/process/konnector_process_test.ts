import assert from "node:assert/strict";
import { VERSION } from "../../../common/version.ts";
import { auditEvents } from "../../../scripts/controlplane/audit_events.ts";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { ownPlane, sharedConsumer } from "../../support/planes/control_planes.ts";
import { Konnector } from "../../support/programs/konnector.ts";

/** Runs the konnector until it exits. */
async function run(args: string[], env: Record<string, string> = {}) {
  await using konnector = await Konnector.spawn(await sharedConsumer(), args, env);
  const code = await konnector.ended();
  return { code, stdout: konnector.stdout, stderr: konnector.lines.join("\n") };
}

Deno.test("xbind-konnector --version prints only the version", async () => {
  assert.deepEqual(await run(["--version"]), {
    code: 0,
    stdout: `xbind-konnector ${VERSION}\n`,
    stderr: "",
  });
});

Deno.test("xbind-konnector --help prints every group of flags on stdout", async () => {
  const { code, stdout, stderr } = await run(["--help"]);
  assert.deepEqual({ code, stderr }, { code: 0, stderr: "" });
  for (
    const word of ["Usage: xbind-konnector", "--secret-namespaces", "--zap-devel", "Exit codes"]
  ) {
    assert.ok(stdout.includes(word), word);
  }
});

Deno.test("xbind-konnector lists all configuration problems at once and exits 2", async () => {
  const { code, stderr } = await run(["--secret-namespaces=A_B", "--oidc-mock"], {
    XBIND_LEADER_ELECT: "perhaps",
  });
  assert.equal(code, 2);
  assert.deepEqual(stderr.split("\n").map((line) => line.slice(0, 40)), [
    "Cannot start: 3 problems in the configur",
    '  --secret-namespaces: "A_B" is not the ',
    "  --oidc-mock is not a flag: see --help",
    '  XBIND_LEADER_ELECT: "perhaps" is neith',
    "Run xbind-konnector --help for all flags",
  ]);
});

Deno.test("xbind-konnector explains a consumer that it cannot use", async (t) => {
  const closed = await Deno.makeTempFile({ suffix: ".kubeconfig" });
  await Deno.writeTextFile(
    closed,
    JSON.stringify({
      "current-context": "c",
      clusters: [{ name: "c", cluster: { server: "https://127.0.0.1:1" } }],
      users: [{ name: "c", user: { token: "t" } }],
      contexts: [{ name: "c", context: { cluster: "c", user: "c" } }],
    }),
  );
  const cases: [string, string[], number, RegExp][] = [
    ["a missing file", ["--kubeconfig=/no/such/file"], 2, /\/no\/such\/file: it does not exist/],
    ["no kubeconfig", [], 2, /set KUBECONFIG or pass --kubeconfig/],
    ["a closed port", [`--kubeconfig=${closed}`], 1, /Cannot reach the API server https:/],
  ];
  for (const [name, args, expected, message] of cases) {
    await t.step(`${name}, with exit code ${expected}`, async () => {
      const { code, stderr } = await run(args);
      assert.equal(code, expected, stderr);
      assert.match(stderr, message);
      assert.doesNotMatch(stderr, /\bat .*\.js:/, "no stack for an error that an operator can fix");
    });
  }
  await Deno.remove(closed);
});

Deno.test("xbind-konnector serves probes and metrics, names itself, and stops at SIGTERM", async () => {
  // It would work on the objects of other tests on a shared consumer.
  await using consumer = await ownPlane({ auditLog: true });
  await using konnector = await Konnector.start(consumer, { flags: ["--leader-elect=false"] });
  const health = await fetch(new URL("/healthz", await konnector.addressOf("/healthz")));
  assert.equal(await health.text(), "ok");
  const metrics = await fetch(new URL("/metrics", await konnector.addressOf("/metrics")));
  const text = await metrics.text();
  assert.match(text, new RegExp(`^xbind_build_info\\{version="${VERSION}"\\} 1$`, "m"));
  assert.match(text, /^rest_client_requests_total\{code="201",.*method="POST"\} /m);
  await eventually("the first request is in the audit log", async () => {
    const ours = await auditEvents(
      consumer,
      ({ userAgent, objectRef }) =>
        userAgent === `xbind-konnector/${VERSION}` &&
        objectRef?.resource === "selfsubjectrulesreviews",
    );
    return ours.length > 0;
  });
  assert.equal(await konnector.stop(), 0);
  assert.equal(konnector.log.at(-1)?.msg, "stopped");
});
