import { ANNOTATIONS } from "../../common/api/names.ts";
import { wrongValue } from "../annotation_values.ts";
import { parseIgnoredPaths, type Path } from "./ignored_paths.ts";
import { remembered } from "./remembered.ts";

/** What the annotations of an object on the consumer ask for. */
export interface Wishes {
  /** Whether the provider keeps its copy when the object goes. */
  readonly isOrphaning: boolean;
  /** Whether a copy that cannot be changed is deleted and recreated. */
  readonly isReplaceable: boolean;
  /** Whether a copy that exists is left as it is. */
  readonly isCreateOnly: boolean;
  /** Whether nothing is written, on either side. */
  readonly isPaused: boolean;
  /** Fields that are not synced. */
  readonly ignored: readonly Path[];
  /** Whether the annotation about deleting the copy is invalid. Then object and copy stay. */
  readonly isLeavingUnclear: boolean;
  /** Why an annotation is invalid. Then nothing is applied, because that might do harm. */
  readonly problem: string | undefined;
}

type Annotations = Readonly<Record<string, string>>;

const NO_WISHES: Wishes = {
  isOrphaning: false,
  isReplaceable: false,
  isCreateOnly: false,
  isPaused: false,
  ignored: [],
  isLeavingUnclear: false,
  problem: undefined,
};
const READ: string[] = [
  ANNOTATIONS.deletionPolicy,
  ANNOTATIONS.replace,
  ANNOTATIONS.syncPolicy,
  ANNOTATIONS.paused,
  ANNOTATIONS.ignoredPaths,
];

/** Reads the wishes of an object. Most objects have none. */
export function wishesOf(annotations: Annotations | undefined): Wishes {
  if (!annotations || !READ.some((name) => Object.hasOwn(annotations, name))) return NO_WISHES;
  return shared(JSON.stringify(annotations, READ));
}

/** Many objects have the same wishes, and share them. */
const shared = remembered((text) => parse(JSON.parse(text)));

/** The annotations with few values. The first two say what happens when an object goes. */
const LEAVING = [ANNOTATIONS.deletionPolicy, ANNOTATIONS.paused] as const;
const CHOICES = [...LEAVING, ANNOTATIONS.replace, ANNOTATIONS.syncPolicy] as const;

/** Gives wishes a problem, in the form `annotation: problem`, unless they have one. */
export const withProblem = (wishes: Wishes, annotation: string, problem: string): Wishes => ({
  ...wishes,
  problem: wishes.problem ?? `The annotation ${annotation} is wrong: ${problem}`,
});

function parse(annotations: Annotations): Wishes {
  const ignored = parseIgnoredPaths(annotations[ANNOTATIONS.ignoredPaths] ?? "");
  const isWrong = (name: string) => wrongValue(annotations, name) !== undefined;
  const wishes: Wishes = {
    isOrphaning: annotations[ANNOTATIONS.deletionPolicy] === "Orphan",
    isReplaceable: annotations[ANNOTATIONS.replace] === "true",
    isCreateOnly: annotations[ANNOTATIONS.syncPolicy] === "CreateOnly",
    isPaused: annotations[ANNOTATIONS.paused] === "true",
    ignored: "paths" in ignored ? ignored.paths : [],
    isLeavingUnclear: LEAVING.some(isWrong),
    problem: undefined,
  };
  const wrong = CHOICES.find(isWrong);
  if (wrong) return withProblem(wishes, wrong, wrongValue(annotations, wrong) ?? "");
  if ("problem" in ignored) return withProblem(wishes, ANNOTATIONS.ignoredPaths, ignored.problem);
  return wishes;
}
