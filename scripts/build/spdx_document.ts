import { createHash } from "node:crypto";
import { rfc3339 } from "../../common/api/times.ts";
import type { LockedPackage } from "./locked_packages.ts";

/** A program, and the packages that its own sources import. */
export interface Program {
  readonly name: string;
  /** Ids of packages. */
  readonly imports: readonly string[];
}

/** A package of the build machine that files of an image come from. */
export interface SystemPackage {
  readonly name: string;
  /** Undefined: neither dpkg nor the file itself tells. */
  readonly version?: string;
  /** The package URL, if dpkg knows the package. */
  readonly purl?: string;
  /** How name and version were found. */
  readonly sourceInfo: string;
  /** Whether the package holds the file as it is, or the system made the file from the package. */
  readonly relation: "EXPANDED_FROM_ARCHIVE" | "GENERATED_FROM";
}

/** A file of an image. */
export interface ImageFile {
  /** Relative to the root. */
  readonly path: string;
  readonly content: Uint8Array;
  /** Undefined for a file that we made. */
  readonly origin?: SystemPackage | "deno" | undefined;
}

/** An image and all its files. */
export interface ImageContents {
  /** Such as `ghcr.io/xbind/backend`. */
  readonly name: string;
  /** Such as `xbind-backend`. */
  readonly program: string;
  readonly files: readonly ImageFile[];
}

/** The contents of a bill of materials. */
export interface Materials {
  readonly version: string;
  /** Seconds since 1970. */
  readonly dateSeconds: number;
  readonly denoVersion: string;
  readonly programs: readonly Program[];
  readonly packages: readonly LockedPackage[];
  /** The licence that each package declares, by id. */
  readonly licenses: ReadonlyMap<string, string>;
  /** The image that holds the programs; undefined for the programs alone. */
  readonly image?: ImageContents | undefined;
}

const UNKNOWN = "NOASSERTION";
const DOCUMENT = "SPDXRef-DOCUMENT";
const RUNTIME = "SPDXRef-Package-deno";
const IMAGE = "SPDXRef-Image";
/** Identifiers joined by AND, OR and WITH; other texts are not SPDX expressions. */
const EXPRESSION = /^\(?[A-Za-z0-9.+-]+\)?( (AND|OR|WITH) \(?[A-Za-z0-9.+-]+\)?)*$/;

/** The bill of materials in SPDX 2.3; the same materials give the same text. */
export function spdxDocument(materials: Materials): string {
  const { version, dateSeconds, denoVersion, programs, packages, licenses } = materials;
  const image = materials.image && imageParts(materials.image, version);
  const title = `${materials.image ? `${materials.image.program}-image` : "xbind"}-${version}`;
  const document = {
    spdxVersion: "SPDX-2.3",
    dataLicense: "CC0-1.0",
    SPDXID: DOCUMENT,
    name: title,
    creationInfo: {
      created: rfc3339(dateSeconds * 1000),
      creators: [`Tool: xbind-build-${version}`],
    },
    packages: [
      ...image?.packages ?? [],
      ...programs.map(({ name }) =>
        spdxPackage(programRef(name), name, version, "Apache-2.0", "APPLICATION")
      ),
      {
        ...spdxPackage(RUNTIME, "deno", denoVersion, "MIT", "FRAMEWORK"),
        externalRefs: [purl(`pkg:github/denoland/deno@v${denoVersion}`)],
      },
      ...packages.map(({ id, name, version, sha512 }) => ({
        ...spdxPackage(npmRef(id), name, version, licenseOf(licenses.get(id)), "LIBRARY"),
        checksums: [{ algorithm: "SHA512", checksumValue: sha512 }],
        externalRefs: [purl(`pkg:npm/${name.replace("@", "%40")}@${version}`)],
      })),
    ],
    ...(image && { files: image.files }),
    relationships: [
      ...image?.relationships ?? [],
      ...programs.flatMap(({ name, imports }) => [
        image
          ? relationship(IMAGE, "CONTAINS", programRef(name))
          : relationship(DOCUMENT, "DESCRIBES", programRef(name)),
        relationship(programRef(name), "DEPENDS_ON", RUNTIME),
        ...imports.map((id) => relationship(programRef(name), "DEPENDS_ON", npmRef(id))),
      ]),
      ...packages.flatMap(({ id, dependencies }) =>
        dependencies.map((needed) => relationship(npmRef(id), "DEPENDS_ON", npmRef(needed)))
      ),
    ],
  };
  // Two documents have the same namespace only if they are equal.
  const digest = createHash("sha256").update(JSON.stringify(document)).digest("hex");
  const documentNamespace = `https://xbind.io/spdx/${title}-${digest.slice(0, 32)}`;
  return `${JSON.stringify({ ...document, documentNamespace }, null, 2)}\n`;
}

/** Describes an image: every file with its sums, and the packages that copied files come from. */
function imageParts({ name, files }: ImageContents, version: string) {
  const sorted = files.toSorted((a, b) => (a.path < b.path ? -1 : 1));
  const described = sorted.map((file) => ({ ...file, ...sumsOf(file.content) }));
  const origins = new Map<string, SystemPackage>();
  for (const { origin } of sorted) {
    if (origin !== undefined && origin !== "deno") origins.set(origin.name, origin);
  }
  const verificationCode = createHash("sha1")
    .update(described.map(({ sha1 }) => sha1).sort().join(""))
    .digest("hex");
  return {
    packages: [
      {
        ...spdxPackage(IMAGE, name, version, UNKNOWN, "CONTAINER"),
        filesAnalyzed: true,
        packageVerificationCode: { packageVerificationCodeValue: verificationCode },
      },
      ...[...origins.values()].map(({ name, version, purl: locator, sourceInfo }) => ({
        ...spdxPackage(systemRef(name), name, version, UNKNOWN, "LIBRARY"),
        sourceInfo,
        ...(locator && { externalRefs: [purl(locator)] }),
      })),
    ],
    files: described.map(({ path, sha1, sha256 }) => ({
      SPDXID: fileRef(path),
      fileName: `./${path}`,
      checksums: [
        { algorithm: "SHA1", checksumValue: sha1 }, // SPDX demands it
        { algorithm: "SHA256", checksumValue: sha256 },
      ],
      licenseConcluded: UNKNOWN,
      copyrightText: UNKNOWN,
    })),
    relationships: [
      relationship(DOCUMENT, "DESCRIBES", IMAGE),
      ...sorted.flatMap(({ path, origin }) => [
        relationship(IMAGE, "CONTAINS", fileRef(path)),
        ...(origin === "deno"
          ? [relationship(fileRef(path), "EXPANDED_FROM_ARCHIVE", RUNTIME)]
          : origin
          ? [relationship(fileRef(path), origin.relation, systemRef(origin.name))]
          : []),
      ]),
    ],
  };
}

const sumsOf = (content: Uint8Array) => ({
  sha1: createHash("sha1").update(content).digest("hex"),
  sha256: createHash("sha256").update(content).digest("hex"),
});

const spdxPackage = (
  SPDXID: string,
  name: string,
  versionInfo: string | undefined,
  license: string,
  primaryPackagePurpose: string,
) => ({
  SPDXID,
  name,
  ...(versionInfo && { versionInfo }),
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

const ref = (kind: string, id: string): string =>
  `SPDXRef-${kind}-${id.replaceAll(/[^A-Za-z0-9.]/g, "-")}`;
const programRef = (name: string): string => ref("Package", name);
const npmRef = (id: string): string => ref("Package-npm", id);
const systemRef = (name: string): string => ref("Package-system", name);
const fileRef = (path: string): string => ref("File", path);

const licenseOf = (declared: string | undefined): string =>
  declared !== undefined && EXPRESSION.test(declared) ? declared : UNKNOWN;
