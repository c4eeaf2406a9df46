import { type Shape, ShapeError } from "../../../common/shape.ts";
import { invalidRequest } from "../../errors.ts";

/** Parses the body of a request; names the field that is missing or wrong. */
export function parseBody<T>({ parse, schema }: Shape<T>, body: unknown): T {
  try {
    return parse(body, "");
  } catch (error) {
    if (!(error instanceof ShapeError)) throw error;
    const { at } = error;
    if (at === "") throw invalid("its body is not a JSON object");
    const value = (body as Record<string, unknown>)[at];
    throw value === undefined || value === ""
      ? invalid(`"${at}" is missing or empty`)
      : invalid(`"${at}" is not a ${schema.properties?.[at]?.type}`);
  }
}

const invalid = (fault: string) => invalidRequest(`Cannot read the request: ${fault}`);
