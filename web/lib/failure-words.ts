/** Why a channel failed, as the gateway notes it: a status or a reason, then the upstream's words. */
import type { TFunction } from 'i18next';

/** @returns the reason in the reader's language, before the upstream's words. */
export function failureWords(words: string, t: TFunction): string {
  const [, reason, rest] = /^(unreachable|timeout|invalid|broken|empty)(?: (.*))?$/s.exec(words) ?? [];
  if (reason === undefined) return words;
  const named = t(`logs.reason.${reason as 'timeout'}`);
  return rest === undefined ? named : `${named}: ${rest}`;
}
