/** Alert rules as the API gives them. */
import { type RuleOption, ruleValueIssue } from '../../../server/contract/alert-rules.ts';
import type { OutputOf } from '../../../server/contract/endpoint.ts';
import type { EndpointOf } from '../../../server/contract/endpoints/index.ts';

export type AlertRules = OutputOf<EndpointOf<'alert.rules'>>;
export type AlertRule = AlertRules['rules'][number];

/** @returns whether all of these may be stored, by the names of their options. */
export const isAllowed = (values: Readonly<Record<string, string>>): boolean =>
  Object.entries(values).every(([name, value]) => ruleValueIssue(name as RuleOption, value.trim()) === null);
