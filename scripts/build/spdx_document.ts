import { createHash } from "node:crypto";
import type { LockedPackage } from "./locked_packages.ts";

/** A program, and the packages that its own sources import. */
export interface Program {
  readonly name: string;
  /** Ids of packages. */
  readonly imports: readonly string[];
}

/** What a bill of materials is made from. */
export interface Materials {
  readonly version: string;
  /** Seconds since 1970. */
  readonly dateSeconds: number;
  readonly denoVersion: string;
  readonly programs: readonly Program[];
  readonly packages: readonly LockedPackage[];
  /** Of each package, as it declares it. */
  readonly licenses: ReadonlyMap<string, string>;
}

const UNKNOWN = "NOASSERTION";
const DOCUMENT = "SPDXRef-DOCUMENT";
const RUNTIME = "SPDXRef-Package-deno";
/** Identifiers joined by AND, OR and WITH; anything else a package wrote is not SPDX. */
const EXPRESSION = /^\(?[A-Za-z0-9.+-]+\)?( (AND|OR|WITH) \(?[A-Za-z0-9.+-]+\)?)*$/;

/** The bill of materials in SPDX 2.3; the same materials give the same text. */
export function spdxDocument(materials: Materials): string {
  const { version, dateSeconds, denoVersion, programs, packages, licenses } = materials;
  const document = {
    spdxVersion: "SPDX-2.3",
    dataLicense: "CC0-1.0",
    SPDXID: DOCUMENT,
    name: `xbind-${version}`,
    creationInfo: {
      created: new Date(dateSeconds * 1000).toISOString().replace(/\.\d+Z$/, "Z"),
      creators: [`Tool: xbind-build-${version}`],
    },
    packages: [
      ...programs.map(({ name }) =>
        spdxPackage(`SPDXRef-Package-${name}`, name, version, "Apache-2.0", "APPLICATION")
      ),
      {
        ...spdxPackage(RUNTIME, "deno", denoVersion, "MIT", "FRAMEWORK"),
        externalRefs: [purl(`pkg:github/denoland/deno@v${denoVersion}`)],
      },
      ...packages.map(({ id, name, version, sha512 }) => ({
        ...spdxPackage(refOf(id), name, version, licenseOf(licenses.get(id)), "LIBRARY"),
        checksums: [{ algorithm: "SHA512", checksumValue: sha512 }],
        externalRefs: [purl(`pkg:npm/${name.replace("@", "%40")}@${version}`)],
      })),
    ],
    relationships: [
      ...programs.flatMap(({ name, imports }) => [
        relationship(DOCUMENT, "DESCRIBES", `SPDXRef-Package-${name}`),
        relationship(`SPDXRef-Package-${name}`, "DEPENDS_ON", RUNTIME),
        ...imports.map((id) => relationship(`SPDXRef-Package-${name}`, "DEPENDS_ON", refOf(id))),
      ]),
      ...packages.flatMap(({ id, dependencies }) =>
        dependencies.map((needed) => relationship(refOf(id), "DEPENDS_ON", refOf(needed)))
      ),
    ],
  };
  // Has to differ between documents that differ, and only between those.
  const digest = createHash("sha256").update(JSON.stringify(document)).digest("hex");
  const documentNamespace = `https://xbind.io/spdx/xbind-${version}-${digest.slice(0, 32)}`;
  return `${JSON.stringify({ ...document, documentNamespace }, null, 2)}\n`;
}

const spdxPackage = (
  SPDXID: string,
  name: string,
  versionInfo: string,
  license: string,
  primaryPackagePurpose: string,
) => ({
  SPDXID,
  name,
  versionInfo,
  primaryPackagePurpose,
  downloadLocation: UNKNOWN,
  filesAnalyzed: false,
  licenseConcluded: UNKNOWN,
  licenseDeclared: license,
  copyrightText: UNKNOWN,
});

const purl = (referenceLocator: string) => ({
  referenceCategory: "PACKAGE-MANAGER",
  referenceType: "purl",
  referenceLocator,
});

const relationship = (
  spdxElementId: string,
  relationshipType: string,
  relatedSpdxElement: string,
) => ({ spdxElementId, relationshipType, relatedSpdxElement });

const refOf = (id: string): string => `SPDXRef-Package-npm-${id.replaceAll(/[^A-Za-z0-9.]/g, "-")}`;

const licenseOf = (declared: string | undefined): string =>
  declared !== undefined && EXPRESSION.test(declared) ? declared : UNKNOWN;
