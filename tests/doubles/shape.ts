/** The form of a request as a rule: which members there are, and what they hold. */
import type { ZodType } from 'zod';
import type { Refusal, Rule } from './rule.ts';

export interface Fault {
  readonly kind: 'unknown' | 'missing' | 'wrong';
  readonly path: readonly (string | number)[];
  readonly expected: string;
  readonly input: unknown;
}

interface Issue {
  readonly code?: string;
  readonly path: PropertyKey[];
  readonly message: string;
  readonly keys?: readonly string[];
  readonly errors?: readonly (readonly Issue[])[];
  readonly expected?: string;
}

const depthOf = (issues: readonly Issue[]): number => Math.max(0, ...issues.map(({ path }) => path.length));

/** It names itself by a tag which is not this form's. */
const isOther = (issues: readonly Issue[]): boolean =>
  issues.some(({ path }) => path.length === 1 && (path[0] === 'type' || path[0] === 'role'));

/** Of a choice of forms, the one that was followed furthest is the one that was meant. */
function meant(issue: Issue): Issue {
  const branches = (issue.errors ?? []).filter((errors) => errors.length > 0);
  const best = branches.toSorted((a, b) => Number(isOther(a)) - Number(isOther(b)) || depthOf(b) - depthOf(a))[0]?.[0];
  if (best === undefined) return issue;
  return meant({ ...best, path: [...issue.path, ...best.path] });
}

function valueAt(body: unknown, path: readonly (string | number)[]): unknown {
  let value = body;
  for (const key of path) value = (value as Record<string | number, unknown> | null | undefined)?.[key];
  return value;
}

export function faultIn(schema: ZodType, body: unknown): Fault | null {
  const parsed = schema.safeParse(body);
  if (parsed.success) return null;
  const first = parsed.error.issues[0] as Issue | undefined;
  if (first === undefined) return null;
  const issue = meant(first);
  const path = issue.path.map((key) => (typeof key === 'symbol' ? String(key) : key));
  const [key] = issue.keys ?? [];
  const whole = key === undefined ? path : [...path, key];
  const input = valueAt(body, whole);
  const kind = key !== undefined ? 'unknown' : input === undefined ? 'missing' : 'wrong';
  return {
    kind,
    path: whole,
    expected: issue.expected ?? issue.message.replace(/^Invalid input: expected /, ''),
    input,
  };
}

export const dotted = (path: Fault['path']): string => path.join('.');
/** `messages[0].content`, as most write it. */
export const bracketed = (path: Fault['path']): string =>
  path.map((key, at) => (typeof key === 'number' ? `[${key}]` : at === 0 ? key : `.${key}`)).join('');

export const shapeRule = (id: string, source: string, schema: ZodType, word: (error: Fault) => Refusal): Rule => ({
  id,
  source,
  reject({ body }) {
    const error = faultIn(schema, body);
    return error === null ? null : word(error);
  },
});
