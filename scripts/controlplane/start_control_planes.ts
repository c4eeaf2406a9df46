import { controlPlaneBinaries } from "./binaries.ts";
import { ControlPlane, type ControlPlaneOptions } from "./control_plane.ts";

/** One control plane for each set of options. */
type Planes<T> = { [K in keyof T]: ControlPlane };

/** Boots several control planes at once; if one fails, none is left running. */
export const startControlPlanes = async <T extends ControlPlaneOptions[]>(
  options: [...T],
): Promise<Planes<T>> => {
  await controlPlaneBinaries(); // before, so that the planes need not wait for each other
  const outcomes = await Promise.allSettled(options.map((each) => ControlPlane.start(each)));
  const failed = outcomes.find((outcome) => outcome.status === "rejected");
  const planes = outcomes.flatMap((outcome) =>
    outcome.status === "fulfilled" ? [outcome.value] : []
  );
  if (!failed) return planes as Planes<T>;
  await Promise.all(planes.map((plane) => plane[Symbol.asyncDispose]()));
  throw failed.reason;
};
