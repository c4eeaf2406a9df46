import { notesFor, type Problem, type RelatedContext } from "./related_context.ts";

/** Shows on the binding why an object is not copied, once. */
export function reportProblem(context: RelatedContext, problem: Problem): void {
  const { reason, binding, object, message } = problem;
  const notes = notesFor(context, object);
  const isNew = notes.problem?.message !== message;
  notes.problem = problem;
  if (!isNew) return;
  context.log.warn("a related object is not copied", { object, reason, message });
  context.tell(binding, reason, message);
  context.onProgress();
}
