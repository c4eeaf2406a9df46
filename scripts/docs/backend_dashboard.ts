import {
  API_SERVER_PANELS,
  CONTROLLER_PANELS,
  PROCESS_PANELS,
  VERSION_PANEL,
} from "./common_panels.ts";
import type { Dashboard, Panel } from "./dashboard.ts";

const grants = (state: string, redFrom?: number): Panel => ({
  title: `Grants: ${state}`,
  about: `Grants in the state ${state}.`,
  kind: "number",
  ...(redFrom === undefined ? {} : { redFrom }),
  queries: { [state]: `max(xbind_grants{job="$job", state="${state}"})` },
});

const bindQuantile = (quantile: number): string =>
  `histogram_quantile(${quantile}, sum by (le) (rate(http_request_duration_seconds_bucket{job="$job", route="/api/bind", status="200"}[$__rate_interval])))`;

/** The dashboard of the backend. Every replica shows the same Grants, so it takes the maximum. */
export const BACKEND_DASHBOARD: Dashboard = {
  uid: "xbind-backend",
  title: "xbind backend",
  about: "Grants, gateway, controllers and processes of xbind-backend. See docs/operating.md.",
  shownBy: "xbind_grants",
  rows: {
    Overview: [
      {
        title: "Replicas",
        about: "Replicas that are scraped.",
        kind: "number",
        queries: { replicas: 'count(xbind_build_info{job="$job"})' },
      },
      {
        title: "Leaders",
        about: "Must be 1; empty without leader election.",
        kind: "number",
        redFrom: 2,
        queries: { leaders: 'sum(leader_election_master_status{job="$job"})' },
      },
      grants("ready"),
      grants("pending"),
      grants("failed", 1),
      grants("stale"),
      {
        title: "Reaper holds",
        about: "1: nothing is reaped, because many consumers fell silent together.",
        kind: "number",
        redFrom: 1,
        queries: { holds: 'max(xbind_reaper_holding{job="$job"})' },
      },
      VERSION_PANEL,
    ],
    Grants: [
      {
        title: "Grants by state",
        about: "failed or pending must not stay above 0.",
        queries: { "{{state}}": 'max by (state) (xbind_grants{job="$job"})' },
      },
      {
        title: "Silent consumers",
        about:
          "Grants whose consumers fell silent together, and Grants that the reaper would delete.",
        queries: {
          "silent together": 'max(xbind_grants_silent_together{job="$job"})',
          "would reap": 'max(xbind_grants_would_revoke{job="$job"})',
        },
      },
      {
        title: "Lost permissions",
        about:
          "Grants whose owner may not bind any more. holds is 1 while none of them loses its rights.",
        queries: {
          "lost": 'max(xbind_grants_permission_lost{job="$job"})',
          "holds": 'max(xbind_authorization_holding{job="$job"})',
        },
      },
    ],
    Gateway: [
      {
        title: "Requests by route",
        about: "Requests to the gateway.",
        unit: "reqps",
        queries: {
          "{{method}} {{route}}":
            'sum by (method, route) (rate(http_request_duration_seconds_count{job="$job"}[$__rate_interval]))',
        },
      },
      {
        title: "Failed requests",
        about: "502, 503 and 504 must not rise.",
        unit: "reqps",
        queries: {
          "{{route}} {{status}}":
            'sum by (route, status) (rate(http_request_duration_seconds_count{job="$job", status=~"[45].."}[$__rate_interval]))',
        },
      },
      {
        title: "Time of a bind",
        about: "Above seconds, the token controller or the API server is slow.",
        unit: "s",
        queries: { p50: bindQuantile(0.5), p90: bindQuantile(0.9), p99: bindQuantile(0.99) },
      },
    ],
    Controllers: CONTROLLER_PANELS,
    "Kubernetes API": API_SERVER_PANELS,
    Processes: PROCESS_PANELS,
  },
};
