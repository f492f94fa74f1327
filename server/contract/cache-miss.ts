/** Why a provider's cache did not have a prompt's beginning, though it had it in the turn before: a member of the log row, and its words. */
import type { Language, Text } from './enum.ts';
import { textIn } from './language.ts';

const culprits = {
  client: { zh: '客户端改动了 {at}', en: 'the client changed {at}' },
  gateway: { zh: '本站改动了 {at}', en: 'this site changed {at}' },
  channel: { zh: '换到另一个上游：{at}', en: 'another upstream served it: {at}' },
  time: { zh: '距上一轮已超过缓存的保存时间', en: 'the turn before was longer ago than the cache lives' },
  upstream: { zh: '开头未变，上游仍未命中', en: 'nothing changed at its beginning; the upstream did not find it' },
} as const satisfies Readonly<Record<string, Text>>;
export type CacheCulprit = keyof typeof culprits;

export interface CacheMiss {
  readonly by: CacheCulprit;
  /** `tools[3]`, `system`, `messages[7]`: the first block that differs, as the request has it; `channel`, `key`, `model`, `settings`; '' = no block. */
  readonly at: string;
  /** Tokens of the prompt that the cache had held and did not give. */
  readonly tokens: number;
}

/** As the row has it. */
export interface LoggedCacheMiss extends CacheMiss {
  /** Quota that the request would have cost less. */
  readonly lost: number;
}

/** @param value the field of a log row. @returns null = it says nothing of that kind. */
export function cacheMissIn(value: unknown): LoggedCacheMiss | null {
  if (typeof value !== 'object' || value === null) return null;
  const { by, at, tokens, lost } = value as Readonly<Record<string, unknown>>;
  if (typeof by !== 'string' || !Object.hasOwn(culprits, by) || typeof at !== 'string') return null;
  if (typeof tokens !== 'number' || typeof lost !== 'number') return null;
  return { by: by as CacheCulprit, at, tokens, lost };
}

/** Who changed what. */
export const cacheMissText = ({ by, at }: CacheMiss, language: Language): string =>
  textIn(culprits[by], language).replace('{at}', at);
