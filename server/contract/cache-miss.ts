/** Why a provider's cache did not have a prompt's beginning, though it had it in the turn before: a member of the log row, and its words. */
import type { Language, Text } from './enum.ts';
import { textIn } from './language.ts';

const culprits = {
  client: { zh: '客户端改动了 {at}', en: 'the client changed {at}' },
  gateway: { zh: '本站改动了 {at}', en: 'this site changed {at}' },
  channel: { zh: '换到另一个上游：{at}', en: 'another upstream served it: {at}' },
  time: { zh: '距上一轮已超过缓存的保存时间', en: 'the turn before was longer ago than the cache lives' },
  provider: { zh: '上游指出变化在 {at}', en: 'its provider says that {at} changed' },
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

/** What the provider itself said of it. */
export interface LoggedDiagnosis {
  /** `tools_changed`, `not_found`, `unavailable` and their likes. */
  readonly reason: string;
  /** Tokens by the provider's estimate; null = it named none. */
  readonly tokens: number | null;
  /** The site asked, and not the client. */
  readonly asked: boolean;
}

/** @param value the field of a log row. @returns null = it says nothing of that kind. */
export function diagnosisIn(value: unknown): LoggedDiagnosis | null {
  if (typeof value !== 'object' || value === null) return null;
  const { reason, tokens, asked } = value as Readonly<Record<string, unknown>>;
  if (typeof reason !== 'string' || !(tokens === null || typeof tokens === 'number')) return null;
  return { reason, tokens, asked: asked === true };
}

const diagnosed = {
  reason: { zh: '上游的诊断：{reason}', en: "the provider's diagnosis: {reason}" },
  not_found: { zh: '上游不记得上一轮', en: 'the provider does not know the turn before' },
  unavailable: { zh: '上游无法诊断', en: 'the provider cannot say why' },
} as const satisfies Readonly<Record<string, Text>>;

export const diagnosisText = ({ reason }: LoggedDiagnosis, language: Language): string =>
  reason === 'not_found' || reason === 'unavailable'
    ? textIn(diagnosed[reason], language)
    : textIn(diagnosed.reason, language).replace('{reason}', reason.replaceAll('_', ' '));
