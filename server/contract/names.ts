/** For whom a request was made, and by what: names that clients give. They are believed for grouping within one user's own rows alone. */

/** Who asks (`claude-code`), the conversation, the project, the person behind the key, the helper of an agent, the user's one question. */
export const nameKinds = ['agent', 'session', 'project', 'end_user', 'subagent', 'prompt'] as const;
export type NameKind = (typeof nameKinds)[number];

/** What the log's sums are grouped by. */
export const logGroupings = [
  'channel',
  'model',
  'user',
  'token',
  'label',
  'group',
  'tag',
  'hour',
  'day',
  ...nameKinds,
] as const;
export type LogGrouping = (typeof logGroupings)[number];
/** Those that a user may have of his own. */
export const ownGroupings = ['model', 'token', 'group', 'hour', 'day', ...nameKinds] as const;
export const isNameKind = (by: string): by is NameKind => (nameKinds as readonly string[]).includes(by);

/** Kinds that headers of an administrator's choice may name: of the others agents alone know. */
export const headerKinds = ['session', 'project', 'end_user'] as const satisfies readonly NameKind[];
export type HeaderKind = (typeof headerKinds)[number];

/** Headers in small letters, by what they name. */
export type NameHeaders = readonly (readonly [header: string, kind: HeaderKind])[];

/** At least one; absent kinds were not named. */
export type Names = Readonly<Partial<Record<NameKind, string>>>;

/** Longest name, in UTF-16 units. */
const nameUnits = 200;

/** Names of a user that are kept as new on one day (UTC); what comes beyond is `otherName`. */
export const newNamesADay = 10_000;
/** Number of what was not kept: 0 says that there was no name. */
export const otherName = 1;
/** What it is called in lists. */
export const otherText = 'other';

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out.
const controls = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g;

/** @returns null = nothing is left of it. */
export function cleanName(value: unknown): string | null {
  if (typeof value !== 'string' || value === '') return null;
  // More is never kept, so more is never read.
  const name = value
    .slice(0, 2 * nameUnits)
    .replace(controls, ' ')
    .trim()
    .slice(0, nameUnits)
    .toWellFormed();
  return name === '' ? null : name;
}
