import type { BindingSpec, RelatedResource } from "../../common/api/resources.ts";
import { isReservedGroup, parseApiName } from "../../common/api/names.ts";
import { list, mapOf, oneOf, record, refined, type Shape, text } from "../../common/shape.ts";

/** An API that a provider can offer: groups without a dot belong to Kubernetes itself. */
const apiName = refined(text(), (name) => {
  const { group = "" } = parseApiName(name) ?? {};
  return group.includes(".") && !isReservedGroup(group);
}, "is no API that a provider can offer");

const requirement = record({
  key: text(),
  operator: oneOf("In", "NotIn", "Exists", "DoesNotExist"),
}, { values: list(text()) });

const labelSelector = record({}, {
  matchLabels: mapOf(text()),
  matchExpressions: list(requirement),
});

const relatedResource = record({
  resource: oneOf("secrets", "configmaps"),
  direction: oneOf("FromProvider", "FromConsumer"),
}, {
  group: oneOf(""),
  selector: record({}, { labelSelector, names: list(text()) }),
}) as Shape<RelatedResource>;

const apis = list(record({ name: apiName }));

const bindingSpec = record({ apis: refined(apis, ({ length }) => length > 0, "is empty") }, {
  conflictPolicy: oneOf("Fail", "Adopt"),
  relatedResources: list(relatedResource),
}) as Shape<unknown> as Shape<Omit<BindingSpec, "connectionRef">>;

/** Parses the known fields of a ClusterBinding's spec, whose APIs a provider must be able to offer. */
export const parseBindingSpec = bindingSpec.parse;
