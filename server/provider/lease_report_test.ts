import assert from "node:assert/strict";
import { ANNOTATIONS } from "../../common/api/names.ts";
import { summaryText } from "../../common/api/sync_summary.ts";
import { HOSTILE_TEXTS, REFUSED_SUMMARIES } from "../../tests/testdata/hostile_reports.ts";
import { readReport } from "./lease_report.ts";

const sync = { objects: 2, conflicts: 0, rejected: 1 };
const problem = { api: "dbs.example.org", name: "one", reason: "Rejected", message: "no" };
const annotations = {
  [ANNOTATIONS.clusterName]: "Prod EU-1",
  [ANNOTATIONS.konnectorVersion]: "1.2.0-rc.1+abc",
  [ANNOTATIONS.syncSummary]: summaryText({ ...sync, problems: [problem] }),
};
const report = {
  clusterName: "Prod EU-1",
  konnectorVersion: "1.2.0-rc.1+abc",
  sync,
  problems: [problem],
};

Deno.test("readReport() reads name, version, counts and problems", () => {
  assert.deepEqual(readReport(annotations), report);
  assert.equal(readReport({ other: "x" }), undefined);
});

Deno.test("readReport() leaves out what a tenant made up", async (t) => {
  for (const text of [...HOSTILE_TEXTS, 17, null, {}, ["prod"]]) {
    await t.step(`name and version ${JSON.stringify(text).slice(0, 40)}`, () => {
      const [clusterName, konnectorVersion] = [
        ANNOTATIONS.clusterName,
        ANNOTATIONS.konnectorVersion,
      ];
      const { clusterName: _, ...noName } = report;
      assert.deepEqual(readReport({ ...annotations, [clusterName]: text }), noName);
      const { konnectorVersion: __, ...noVersion } = report;
      const isLong = text === HOSTILE_TEXTS[11]; // a name of 64 characters is one too long
      assert.deepEqual(
        readReport({ ...annotations, [konnectorVersion]: isLong ? `${text}x` : text }),
        noVersion,
      );
    });
  }
  for (const text of REFUSED_SUMMARIES) {
    await t.step(`summary ${JSON.stringify(text).slice(0, 40)}`, () => {
      const { sync: _, problems: __, ...rest } = report;
      assert.deepEqual(readReport({ ...annotations, [ANNOTATIONS.syncSummary]: text }), rest);
    });
  }
});
