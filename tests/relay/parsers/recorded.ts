/** How readers in other languages parsed the bodies; `record.ts` says how to record them again. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { forms } from './forms.ts';
import { jsonBodies } from './json-bodies.ts';

/** Every value a reader found under the name, or that it refused the body. */
export type FormView =
  | { readonly model: readonly string[]; readonly n: readonly string[] }
  | { readonly error: string };

export interface Recorded {
  /** Of the bodies it was made of. */
  readonly digest: string;
  readonly forms: Readonly<Record<string, Readonly<Record<string, FormView>>>>;
  readonly json: Readonly<Record<string, Readonly<Record<string, Readonly<Record<string, unknown>>>>>>;
  readonly clients: readonly { readonly name: string; readonly type: string; readonly body: string }[];
}

export const digest = (): string => {
  const hash = createHash('sha256');
  for (const { name, type, body } of forms) hash.update(`${name}\n${type}\n${body}\n`);
  for (const { name, body } of jsonBodies) hash.update(`${name}\n${body}\n`);
  return hash.digest('hex');
};

export const recorded = (): Recorded =>
  JSON.parse(readFileSync(new URL('./recorded.json', import.meta.url), 'utf8')) as Recorded;
