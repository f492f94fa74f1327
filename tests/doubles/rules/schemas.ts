/** What makers refuse in the schemas of tools. */
import { record } from '../../../server/protocols/shared/json.ts';
import { invalid, type Refusal } from '../rule.ts';

/** One of several forms, where one form is wanted. */
export const rootUnion = (schema: unknown): boolean => {
  const root = record(schema);
  return root !== null && ['anyOf', 'oneOf', 'allOf'].some((word) => root[word] !== undefined);
};

/** OpenAI's models that refuse them; those after take them: https://github.com/BerriAI/litellm/pull/38837 */
export const unionized = /^(?:gpt-4|o\d|chatgpt)/;

export const unionFault = (name: unknown, param: string): Refusal =>
  invalid(
    `Invalid schema for function '${name}': schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level.`,
    { param, code: 'invalid_function_parameters' },
  );

export function requiredWithoutProperties(schema: unknown): boolean {
  const one = record(schema);
  if (one === null) return false;
  if (Array.isArray(one.required) && record(one.properties) === null) return true;
  return [...Object.values(record(one.properties) ?? {}), one.items].some(requiredWithoutProperties);
}
