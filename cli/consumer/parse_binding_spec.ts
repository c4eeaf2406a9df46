import type { BindingSpec, RelatedResource } from "../../common/api/resources.ts";
import { isReservedGroup, parseApiName } from "../../common/api/names.ts";
import { list, oneOf, type Parse, record, ShapeError, text } from "../../common/shape.ts";
import { isMapping } from "./differences.ts";

/** An API that a provider can offer: groups without a dot belong to Kubernetes itself. */
const apiName: Parse<string> = (value, at) => {
  const name = text(value, at);
  const { group = "" } = parseApiName(name) ?? {};
  if (group.includes(".") && !isReservedGroup(group)) return name;
  throw new ShapeError(`${at} is no API that a provider can offer`);
};

const labels: Parse<Record<string, string>> = (value, at) => {
  if (!isMapping(value)) throw new ShapeError(`${at} is no object`);
  for (const [key, label] of Object.entries(value)) text(label, `${at}.${key}`);
  return value as Record<string, string>;
};

const requirement = record({
  key: text,
  operator: oneOf("In", "NotIn", "Exists", "DoesNotExist"),
}, { values: list(text) });

const labelSelector = record({}, { matchLabels: labels, matchExpressions: list(requirement) });

const relatedResource = record({
  resource: oneOf("secrets", "configmaps"),
  direction: oneOf("FromProvider", "FromConsumer"),
}, {
  group: oneOf(""),
  selector: record({}, { labelSelector, names: list(text) }),
}) as Parse<RelatedResource>;

/** The known fields of a ClusterBinding's spec; the APIs are such that a provider can offer. */
export const parseBindingSpec: Parse<Omit<BindingSpec, "connectionRef">> = (value, at) => {
  const spec = record({ apis: list(record({ name: apiName })) }, {
    conflictPolicy: oneOf("Fail", "Adopt"),
    relatedResources: list(relatedResource),
  })(value, at);
  if (spec.apis.length === 0) throw new ShapeError(`${at}.apis is empty`);
  const { apis, relatedResources, ...rest } = spec;
  return {
    apis: [...apis],
    ...rest,
    ...(relatedResources ? { relatedResources: [...relatedResources] } : {}),
  };
};
