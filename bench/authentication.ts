import { ControlPlane } from "../scripts/controlplane/control_plane.ts";
import { sleep } from "../common/time/wait.ts";
import { Gateway } from "../tests/support/worlds/gateway_world.ts";
import { accountToken, connect } from "../tests/support/planes/kube.ts";
import { type SealedSessions, sealedSessions } from "../tests/support/planes/sealed_sessions.ts";
import { type Figure, latencies, median, ms, timed } from "./figure.ts";
import { load } from "./load.ts";
import type { Run } from "./scenario.ts";

/** Slower than the gateway's limit of ten reviews a second, which is not to be measured. */
const REVIEW_EVERY_MS = 110;
const REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews";
const LOGIN_REQUESTS = 3;

/** Measures logins, requests with a session and requests with a provider token. */
export async function* benchAuthentication(run: Run): AsyncGenerator<Figure> {
  const { full, sized, progress } = run;
  await using plane = await ControlPlane.start({ name: "bench" });
  const sessions = await sealedSessions();
  await using gateway = await Gateway.start(plane, {
    flags: ["--kubernetes-auth"],
    env: sessions.env,
  });
  progress("logins through the mock identity provider");
  yield await logins(gateway, sized(60, 300));
  progress("session checks");
  yield await sessionChecks(gateway, sessions, full ? 5 : 2);
  progress("token reviews");
  yield* tokenReviews(plane, gateway, sized(30, 100));
}

async function logins(gateway: Gateway, rounds: number): Promise<Figure> {
  for (let i = 0; i < 5; i++) await gateway.login();
  const [times, empty]: [number[], number[]] = [[], []];
  for (let i = 0; i < rounds; i++) {
    times.push(await timed(() => gateway.login()));
    empty.push(
      await timed(async () => {
        for (let n = 0; n < LOGIN_REQUESTS; n++) {
          await (await gateway.request("/api/healthz")).text();
        }
      }),
    );
  }
  return {
    name: "login round trip through the mock identity provider",
    measured: latencies(times),
    comparedTo: `${LOGIN_REQUESTS} empty answers, as many as a login's ${ms(median(empty))}`,
    goal: "(information)",
  };
}

async function sessionChecks(
  { url }: Gateway,
  sessions: SealedSessions,
  seconds: number,
): Promise<Figure> {
  const how = { token: await sessions.seal("reader"), inFlight: 32, seconds };
  await load(`${url}/api/me`, { ...how, seconds: 1 });
  const known = await load(`${url}/api/me`, how);
  const { token: _, ...anonymous } = how;
  const empty = await load(`${url}/api/healthz`, anonymous);
  const firsts: number[] = [];
  for (let i = 0; i < 100; i++) {
    const headers = { Authorization: `Bearer ${await sessions.seal(`reader-${i}`)}` };
    firsts.push(await timed(async () => await (await fetch(`${url}/api/me`, { headers })).text()));
  }
  return {
    name: "GET /api/me with a session, 32 in flight",
    measured: `${known.perSecond.toFixed(0)}/s, p50 ${ms(known.p50)}, p99 ${ms(known.p99)}`,
    comparedTo: `without a check (/api/healthz) ${empty.perSecond.toFixed(0)}/s; ` +
      `the first with a session, alone ${ms(median(firsts))}`,
    goal: `(information) ${(100 * known.perSecond / empty.perSecond).toFixed(0)} %`,
  };
}

async function* tokenReviews(
  plane: ControlPlane,
  gateway: Gateway,
  rounds: number,
): AsyncGenerator<Figure> {
  using admin = await connect(plane);
  const { kube } = admin;
  const [reviewed, known, raw]: [number[], number[], number[]] = [[], [], []];
  for (let i = -2; i < rounds; i++) { // two rounds warm up
    const [ours, theirs] = [
      await accountToken(kube, "default", "bench"),
      await accountToken(kube, "default", "bench"),
    ];
    const ask = () => timed(async () => await gateway.read(ours, "/api/me"));
    const review = { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview" };
    const [first, again, byHand] = [
      await ask(),
      await ask(),
      await timed(() => kube.request("POST", REVIEWS, { ...review, spec: { token: theirs } })),
    ];
    await sleep(REVIEW_EVERY_MS);
    if (i < 0) continue;
    reviewed.push(first);
    known.push(again);
    raw.push(byHand);
  }
  yield {
    name: "GET /api/me with a provider token, new to the gateway",
    measured: latencies(reviewed),
    comparedTo: `a raw TokenReview p50 ${ms(median(raw))}`,
    goal: `(information) ${(median(reviewed) / median(raw)).toFixed(2)} ×`,
  };
  yield {
    name: "GET /api/me with a provider token, reviewed a moment ago",
    measured: latencies(known),
    comparedTo: `a raw TokenReview p50 ${ms(median(raw))}`,
    goal: "(information)",
  };
}
